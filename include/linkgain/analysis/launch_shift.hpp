#pragma once

#include <map>
#include <optional>

#include "linkgain/analysis/launch_spread.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {

/// By how much the mean log of launch medians moved between two sets of launches; slower is
/// positive.
struct LaunchShift {
  double log = 0.0;
  Spread spread;   ///< of one launch, on either side
  int before = 1;  ///< launches
  int after = 1;
};

/// Of the shift: the launches of both sides count, sqrt(s^2 (1/before + 1/after)).
double standard_error(const LaunchShift& shift);

/// student_t_quantile(0.975, …), found once for each number of degrees of freedom: the cases of a
/// pool share theirs.
class ShiftQuantiles {
 public:
  double at(int degrees_of_freedom);

 private:
  std::map<int, double> known_;
};

/// The 95 % interval.
Interval interval_of(const LaunchShift& shift, ShiftQuantiles& quantiles);

/// The chance of so large a shift, or a larger one, where the true one is `bound`; and of so small
/// a one. An infinite bound gives 1: nothing lies beyond it.
double chance_above(const LaunchShift& shift, double bound);
double chance_below(const LaunchShift& shift, double bound);

/// How many launches would settle a question.
struct Settling {
  int launches = 0;           ///< after, in all
  bool baseline_too = false;  ///< as many before, for more after alone would not do
  bool operator==(const Settling&) const = default;
};

/// The fewest launches whose interval lies within the bounds or wholly beyond one of them, if shift
/// and spread stay what they are and each launch adds as many degrees of freedom as those before
/// did; absent where kMostSettling are too few.
std::optional<Settling> launches_to_settle(const LaunchShift& shift, ShiftQuantiles& quantiles,
                                           double lower, double upper);

inline constexpr int kMostSettling = 100;

}  // namespace linkgain
