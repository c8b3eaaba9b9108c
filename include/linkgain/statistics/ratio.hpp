#pragma once

#include <optional>
#include <span>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {

/// How many times longer the other variant takes, t(other)/t(first), from rounds that sampled both.
struct Ratio {
  double estimate = 1.0;
  std::optional<double> low;  ///< 95 % interval; absent when there are too few rounds
  std::optional<double> high;
  int rounds = 0;            ///< rounds that went in
  int rounds_per_group = 1;  ///< neighbouring rounds averaged because of correlation
  bool correlated = false;   ///< lag-1 correlation above the limit even so

  /// Half the interval's width over the estimate, on the log scale; absent without an interval.
  std::optional<double> relative_half_width() const;
};

/// 1 - 1/ratio: the share of time saved by the first variant, the page's "23 %".
double less_time(double ratio);

/// Rule 6's estimate: log ratio of each round, Hodges-Lehmann with the signed-rank interval.
/// `first` and `other` hold one time per round, in the order measured. Neighbouring rounds are
/// averaged in twos, fours, … while the lag-1 correlation of the log ratios exceeds
/// kCorrelationLimit and enough rounds remain: that is what longer samples would have given.
/// Throws std::invalid_argument where the two differ in length or are empty, or a time is not above
/// zero.
Ratio estimate_ratio(std::span<const double> first, std::span<const double> other);

/// The ratio over launches: mean of the log of each launch's estimate with the t interval. A
/// single launch's ratio comes back as it is. Throws std::invalid_argument where there are none.
Ratio combine_launches(std::span<const Ratio> launches);

/// Half width of a ratio's interval at which a case is done, unless another one is asked for.
inline constexpr double kDefaultPrecision = 0.01;

/// When to stop adding rounds. Looks happen at 20, 30, 45, 68, … rounds (times 1.5); a run stops
/// when every interval's half width is within `precision` of its ratio, or at a limit.
class StoppingRule {
 public:
  struct Limits {
    double precision = kDefaultPrecision;
    int first_look = 20;
    int most_rounds = 230;
    Seconds most_time{1e9};  ///< measuring time for one case; the first look is always reached
  };
  enum class Decision { go_on, converged, out_of_rounds, out_of_time };

  explicit StoppingRule(Limits limits) : limits_(limits) {}

  /// The rounds at which the `look`-th decision (0 first) is taken.
  int rounds_at_look(int look) const;

  /// Decides after `rounds` rounds that took `elapsed` in all. `ratios` are those against the first
  /// variant. Predicts the cost of reaching the next look from the rounds so far.
  Decision decide(int look, std::span<const Ratio> ratios, Seconds elapsed) const;

  const Limits& limits() const { return limits_; }

 private:
  Limits limits_;
};

/// Orders of variants (indices 0 … variants-1) for round after round: a random permutation, then
/// its mirror image, so that each pair of rounds is balanced (ABBA).
class BalancedOrder {
 public:
  BalancedOrder(int variants, unsigned seed);
  std::vector<int> next();

 private:
  int variants_;
  unsigned state_;
  std::vector<int> pending_;
};

}  // namespace linkgain
