#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

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
/// Tells whether it is at most so wide; not without an interval.
bool is_precise(const Estimate& ratio, double half_width);

/// Returns how many times longer the first one takes: t(own)/t(other). The ratio is not 0.
Estimate inverse_of(const Estimate& ratio);

/// Returns 1 - 1/ratio: the share of time saved by the first variant, the guide's "23 %".
double less_time(double ratio);

/// Returns the value that Student's t with `degrees_of_freedom` stays below with `probability`.
/// Found by bisection on the regularised incomplete beta function (Abramowitz and Stegun, Handbook
/// of Mathematical Functions, 26.5.8 and 26.7.1); relative error below 1e-9. Throws
/// std::invalid_argument where the probability is not strictly between 0 and 1 or the degrees of
/// freedom are below 1.
double student_t_quantile(double probability, int degrees_of_freedom);

/// Returns the probability that Student's t with `degrees_of_freedom` exceeds `t` (A&S 26.7.1),
/// without loss of digits where it is small. Throws std::invalid_argument where there is no degree
/// of freedom or `t` is no number.
double student_t_upper_tail(double t, int degrees_of_freedom);

/// Returns the probability that the ratio of two independent estimates of one variance, with these
/// degrees of freedom, exceeds `ratio` (the F distribution; Abramowitz and Stegun, 26.6.2). Throws
/// std::invalid_argument where a side has no degree of freedom or the ratio is negative.
double variance_ratio_upper_tail(double ratio, int above, int below);

/// Returns which of several hypotheses are rejected so that the expected share of false ones among
/// them is at most `rate` (Benjamini and Hochberg, J. R. Statist. Soc. B 57, 1995). One answer for
/// each p value, in their order. Throws std::invalid_argument for a p value outside 0 … 1.
std::vector<bool> benjamini_hochberg(std::span<const double> p_values, double rate);

/// The p value above which the estimate of a one-sided test against a bound lies plainly on the
/// inner side of it.
inline constexpr double kPlainlyWithin = 0.9;

/// What benjamini_hochberg_beyond() finds.
struct TestsOfABound {
  std::vector<std::size_t> in_question;  ///< places of those that are not plainly within
  std::vector<bool> rejected;            ///< an answer for each p value, in their order
  /// The largest p value at which one more would be rejected where not all are.
  double next = 0.0;
};

/// Applies benjamini_hochberg() to such tests. Their p values are conservative wherever the truth
/// lies well within the bound, and each of them would cost power for nothing. So of several tests
/// those take part whose p value is at most kPlainlyWithin, divided by it: the quotient is again at
/// most uniform (Zhao, Small and Su, J. Am. Statist. Assoc. 114, 2019, on uniformly conservative p
/// values, which those of Student's t are).
TestsOfABound benjamini_hochberg_beyond(std::span<const double> p_values, double rate);

/// Between two samples of one launch, from which on times were of another level.
struct LevelChange {
  std::size_t launch = 0;  ///< place among the launches
  std::size_t before = 0;  ///< how many samples came before it
  double log = 0.0;        ///< mean log time after it less that before it
  bool operator==(const LevelChange&) const = default;
};

/// How often a change is found where there is none, in all launches together, if samples are
/// independent and their logs normal.
inline constexpr double kLevelChangeByChance = 0.001;

/// A launch of fewer samples is not looked at.
inline constexpr std::size_t kFewestForLevelChange = 4;

/// Finds the most significant sudden change of level within a launch; nothing if none is
/// significant and of at least `least`. `launches` has the logs of each launch's times in their
/// order.
///
/// For every place in every launch, Student's t of the means before and after it. A sample that
/// stands alone on its side must be the faster one, by 2 `least`: a slower one cannot be
/// distinguished from a spike, and leaves a median of four alone. The variance is that around the
/// two means in this launch and around their own means in the others, so that neither the change
/// itself nor what sets launches apart is in it, and what happens in every launch, as a slow first
/// sample, does not count as sudden. The chance is Bonferroni's over all places.
std::optional<LevelChange> find_level_change(std::span<const std::vector<double>> launches,
                                             double least);

}  // namespace linkgain
