#pragma once

#include <optional>
#include <string>

namespace linkgain {

/// The tolerance of a baseline and of a fleet.
inline constexpr double kDefaultTolerance = 0.05;

/// How far a time may lie from its reference, as fractions of it: -0.05 and 0.05 allow 5 % to
/// either side. Absent is unbounded on that side. `lower` is above -1 and at most 0, `upper` at
/// least 0.
struct Tolerance {
  std::optional<double> lower = -kDefaultTolerance;  ///< faster than this is suspiciously fast
  std::optional<double> upper = kDefaultTolerance;   ///< slower than this fails
  bool operator==(const Tolerance&) const = default;
};

/// Returns the bounds of log(time / reference); infinite where unbounded.
double log_lower(const Tolerance& tolerance);
double log_upper(const Tolerance& tolerance);

/// Returns "±5 %", "-5 to +10 %", "at most +5 %", "at least -5 %", "unbounded".
std::string readable_tolerance(const Tolerance& tolerance);

}  // namespace linkgain
