#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/element.hpp"
#include "kernels/verify/pattern.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// Returns the kernels' name of a type: their enumerations are ours, in the same order.
constexpr kernels::ElementType element_type(DataType type) {
  return static_cast<kernels::ElementType>(type);
}
constexpr kernels::ReductionKind reduction_kind(Reduction reduction) {
  return static_cast<kernels::ReductionKind>(reduction);
}

/// Returns what mulsum multiplies this rank's data by, as an element of the type in the first
/// bytes.
std::uint64_t factor_bits(DataType type, int rank);

/// Returns the known data of a case's operation of that number, which no other operation has, so
/// that what one has left is not taken for another's: its reduction's, or plain data where bytes
/// are only moved.
kernels::Pattern verification_pattern(const Case& c, std::int64_t operation = 0);

/// Returns the same case's pattern, so many operations on.
kernels::Pattern later_pattern(const kernels::Pattern& pattern, std::int64_t operations);

/// Returns how many turns a verification has in a row, each on a slot of its own.
std::int64_t verified_burst(const Case& c, const BufferPlan& plan);

/// Returns how long a rank waits before its turn in a verification, so that ranks come to it apart:
/// for half of the turns not at all, else up to 200 us.
Seconds verification_delay(const kernels::Pattern& pattern, int rank);

/// Returns whose message a rank gets in an operation that may have a pair; -1 if the rank receives
/// nothing.
int sender_to(const Case& c, int rank);
/// Returns where this rank's message goes; -1 if it sends nothing.
int receiver_from(const Case& c, int rank);

/// Returns whether the operation gives this rank anything to do.
bool takes_part(const Case& c, int rank);

/// One message of a copy: all of `from`'s input to `to`'s output, there from `offset` on.
struct Transfer {
  int from = 0;
  int to = 0;
  Bytes offset{};
  bool operator==(const Transfer&) const = default;
};

/// Returns the messages of one operation, in an order that is the same on all ranks; none where
/// nothing goes from rank to rank.
std::vector<Transfer> transfers_of(const Case& c);

/// Returns which of the two works where one reaches the other's memory: copy_push and all_to_one
/// push, copy_pull and one_to_all pull, so that each rank has one message to move at most.
int executor_of(const Case& c, const Transfer& transfer);

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

/// Adds what was found in another output.
void add(Verification& total, const Verification& found);

/// Returns the whole of a rank's output, part by part; empty where the rank gets no data.
std::vector<ExpectedPart> expected_parts(const Case& c, int rank);

}  // namespace linkgain
