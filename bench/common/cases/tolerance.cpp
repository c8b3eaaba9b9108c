#include "linkgain/cases/tolerance.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace linkgain {

double log_lower(const Tolerance& tolerance) {
  return tolerance.lower ? std::log1p(*tolerance.lower) : -std::numeric_limits<double>::infinity();
}

double log_upper(const Tolerance& tolerance) {
  return tolerance.upper ? std::log1p(*tolerance.upper) : std::numeric_limits<double>::infinity();
}

std::string readable_tolerance(const Tolerance& tolerance) {
  const auto percent = [](double share) { return fmt::format("{:+.3g}", 100.0 * share); };
  if (!tolerance.lower && !tolerance.upper) return "unbounded";
  if (!tolerance.lower) return fmt::format("at most {} %", percent(*tolerance.upper));
  if (!tolerance.upper) return fmt::format("at least {} %", percent(*tolerance.lower));
  if (*tolerance.upper == -*tolerance.lower) {
    return fmt::format("±{:.3g} %", 100.0 * *tolerance.upper);
  }
  return fmt::format("{} to {} %", percent(*tolerance.lower), percent(*tolerance.upper));
}

}  // namespace linkgain
