#pragma once

#include <optional>
#include <span>

namespace linkgain {

/// An estimate with the interval that holds it at the stated confidence.
struct Interval {
  double estimate = 0.0;
  double low = 0.0;
  double high = 0.0;
};

/// The middle value, or the mean of the middle two. Throws std::invalid_argument when empty.
double median(std::span<const double> values);

/// The values that a quarter of all and three quarters of all lie below, by linear interpolation
/// between neighbours (type 7 of Hyndman and Fan, Sample Quantiles in Statistical Packages, 1996).
/// Throws std::invalid_argument when empty.
struct Quartiles {
  double low = 0.0;
  double high = 0.0;
};
Quartiles quartiles(std::span<const double> values);

/// Mean with half the width of Student's t interval, which needs two values. Throws
/// std::invalid_argument when empty.
struct StudentMean {
  double mean = 0.0;
  std::optional<double> half_width{};
};
StudentMean student_mean(std::span<const double> values, double confidence = 0.95);

}  // namespace linkgain
