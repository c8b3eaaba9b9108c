#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace linkgain {

/// What a test has wrong with one of a rank's outputs when it is verified.
enum class Spoil {
  nothing,
  bit,    ///< one is flipped
  stale,  ///< it is what the operation before had left, as if this one had been skipped
};

/// A failure that tests order through LINKGAIN_TEST_FAULT=kind@rank[:N]: `corrupt` flips one output
/// element of that rank at verification, `stale` puts an earlier operation's output there, `die`
/// ends, `hang` holds up and `stop` stops the rank (by SIGSTOP) at the N-th timed batch (1 is the
/// first, calibration not counted). Of what `--prove` writes into the other GPU's memory: `drop`
/// writes nothing, `stale` only the first data, `own-window` writes into the rank's own memory, and
/// `hang` stops before.
struct Fault {
  enum class Kind { corrupt, stale, die, hang, stop, drop, own_window };
  Kind kind = Kind::corrupt;
  int rank = 0;
  std::int64_t batch = 1;
};

/// Absent for an empty text; throws UsageError for any other that is no fault.
std::optional<Fault> parse_fault(std::string_view text);

/// What a rank's verifications have wrong by `fault`.
Spoil spoil_of(const std::optional<Fault>& fault, int rank);

/// What LINKGAIN_TEST_FAULT orders.
std::optional<Fault> fault_from_environment();

}  // namespace linkgain
