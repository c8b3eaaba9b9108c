#include "linkgain/core/tolerance.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "linkgain/core/errors.hpp"

namespace linkgain {

double log_lower(const Tolerance& tolerance) {
  return tolerance.lower ? std::log1p(*tolerance.lower) : -std::numeric_limits<double>::infinity();
}

double log_upper(const Tolerance& tolerance) {
  return tolerance.upper ? std::log1p(*tolerance.upper) : std::numeric_limits<double>::infinity();
}

Tolerance parse_tolerance(std::string_view text) {
  std::string_view digits = text;
  const bool percent = digits.ends_with('%');
  if (percent) digits.remove_suffix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (percent) value /= 100.0;
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  if (!whole || !(value > 0.0 && value < 1.0)) {
    throw UsageError(fmt::format("'{}' is no tolerance", text),
                     "give a share of the reference above 0 and below 100 %: 5% or 0.05");
  }
  return {-value, value};
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
