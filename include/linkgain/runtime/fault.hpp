#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace linkgain {

/// A failure that tests order through LINKGAIN_TEST_FAULT=kind@rank[:N]: `corrupt` flips one output
/// element of that rank at verification, `die` ends and `hang` stops the rank at the N-th timed
/// batch (1 is the first, calibration not counted).
struct Fault {
  enum class Kind { corrupt, die, hang };
  Kind kind = Kind::corrupt;
  int rank = 0;
  std::int64_t batch = 1;
};

/// Absent for an empty text; throws UsageError for any other that is no fault.
std::optional<Fault> parse_fault(std::string_view text);

/// What LINKGAIN_TEST_FAULT orders.
std::optional<Fault> fault_from_environment();

}  // namespace linkgain
