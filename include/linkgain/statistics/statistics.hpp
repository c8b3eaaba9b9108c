#pragma once

#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

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

/// Hodges-Lehmann estimate (median of the Walsh averages) of the centre of symmetry, with the
/// confidence interval that the exact Wilcoxon signed-rank distribution gives (Hollander, Wolfe and
/// Chicken, Nonparametric Statistical Methods, 3rd ed., section 3.2 and 3.3). With fewer than six
/// values no 95 % interval exists: then low and high are absent.
struct SignedRankEstimate {
  double estimate = 0.0;
  std::optional<double> low;
  std::optional<double> high;
};
SignedRankEstimate hodges_lehmann(std::span<const double> values, double confidence = 0.95);

/// P(T+ <= k) for the signed-rank statistic of n values without ties, k = 0 … n(n+1)/2.
/// Exact for every n; costs O(n^3), so callers keep n at a few hundred.
std::vector<double> signed_rank_distribution(int n);

/// Mean with the Student-t interval. Absent low/high below two values.
SignedRankEstimate student_mean(std::span<const double> values, double confidence = 0.95);

/// By how much the mean of `other` lies above that of `first`, with Welch's t interval, which holds
/// where one scatters more than the other and where they are not as many (B. L. Welch, Biometrika
/// 34, 1947; degrees of freedom rounded down). Absent low/high below two values on either side.
SignedRankEstimate welch_difference(std::span<const double> first, std::span<const double> other,
                                    double confidence = 0.95);

/// Correlation of each value with its predecessor; 0 when fewer than three values or no variance.
double lag1_autocorrelation(std::span<const double> values);

/// What is correlated with its predecessor by more than this is no observation of its own.
inline constexpr double kCorrelationLimit = 0.2;

/// Values, or means of neighbours.
struct Groups {
  std::vector<double> values;
  int length = 1;           ///< neighbours averaged because of correlation
  bool correlated = false;  ///< lag-1 correlation above kCorrelationLimit even so
};

/// Averages neighbours in twos, fours, … while their lag-1 correlation exceeds kCorrelationLimit
/// and ten groups remain, the fewest with some room in the signed-rank interval.
Groups grouped_while_correlated(std::span<const double> values);

/// Means of consecutive groups of `group` values; an incomplete last group is dropped.
std::vector<double> group_means(std::span<const double> values, int group);

}  // namespace linkgain
