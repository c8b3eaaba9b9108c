#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/element.hpp"
#include "kernels/verify/pattern.hpp"
#include "linkgain/cases/case.hpp"

namespace linkgain {

kernels::ElementType element_type(DataType type);
kernels::ReductionKind reduction_kind(Reduction reduction);

/// What mulsum multiplies this rank's data by, as an element of the type in the first bytes.
std::uint64_t factor_bits(DataType type, int rank);

/// The known data of a case: its reduction's, or plain data where bytes are only moved.
kernels::Pattern verification_pattern(const Case& c);

/// Whose message a rank gets in an operation that may have a pair; -1 where the rank receives
/// nothing.
int sender_to(const Case& c, int rank);
/// Where this rank's message goes; -1 where it sends nothing.
int receiver_from(const Case& c, int rank);

/// Whether the operation gives this rank anything to do.
bool takes_part(const Case& c, int rank);

/// ExpectedPart::source where the reduction over all ranks is expected.
inline constexpr int kReduced = -1;

/// What must stand in a stretch of one rank's output: the elements from `first_index` on of one
/// rank's input, or of the reduction.
struct ExpectedPart {
  std::int64_t begin = 0;  ///< in the output, in elements
  std::int64_t count = 0;
  std::int64_t first_index = 0;
  int source = kReduced;
  bool operator==(const ExpectedPart&) const = default;
};

/// The whole of a rank's output, part by part; empty where the rank gets no data.
std::vector<ExpectedPart> expected_parts(const Case& c, int rank);

}  // namespace linkgain
