#pragma once

#include <optional>
#include <span>

namespace linkgain {

/// All from `low` to `high`, both included.
struct Interval {
  double low = 0.0;
  double high = 0.0;

  bool holds(double value) const { return low <= value && value <= high; }
  bool operator==(const Interval&) const = default;
};

/// Returns the interval's ends; nothing if there is none.
std::optional<double> low_of(const std::optional<Interval>& interval);
std::optional<double> high_of(const std::optional<Interval>& interval);

/// What replicates say of a figure.
struct Estimate {
  double value = 0.0;
  /// That holds the true figure at the stated confidence, 95 % unless another is named; absent of
  /// one replicate.
  std::optional<Interval> interval{};
  int replicates = 0;  ///< 0: not known

  /// Returns whether there is an interval and this is one of the figures that it does not rule out.
  bool may_be(double figure) const { return interval && interval->holds(figure); }
  bool operator==(const Estimate&) const = default;
};

/// Returns the middle value, or the mean of the middle two. Throws std::invalid_argument when
/// empty.
double median(std::span<const double> values);

/// Returns the values that a quarter of all and three quarters of all lie below, by linear
/// interpolation between neighbours (type 7 of Hyndman and Fan, Sample Quantiles in Statistical
/// Packages, 1996). Throws std::invalid_argument when empty.
Interval quartiles(std::span<const double> values);

/// Returns mean with Student's t interval, which needs two values. Throws std::invalid_argument
/// when empty.
Estimate student_mean(std::span<const double> values, double confidence = 0.95);

// A ratio is the estimate of how many times longer the other takes, t(other)/t(own); its replicates
// are the launches of the side that has fewer.

/// Returns half the interval's width over the ratio, on the log scale; absent without an interval.
std::optional<double> relative_half_width(const Estimate& ratio);

/// Returns 1 - 1/ratio: the share of time saved by the first variant, the guide's "23 %".
double less_time(double ratio);

}  // namespace linkgain
