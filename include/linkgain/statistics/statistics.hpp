#pragma once

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

}  // namespace linkgain
