#include "linkgain/analysis/launch_shift.hpp"

#include <algorithm>
#include <cmath>

#include "linkgain/statistics/student_t.hpp"

namespace linkgain {
namespace {

/// The same shift with other numbers of launches.
LaunchShift with_launches(const LaunchShift& shift, int before, int after) {
  const int freedom = std::max(1, shift.before + shift.after - 2);
  LaunchShift more = shift;
  more.before = before;
  more.after = after;
  more.spread.degrees_of_freedom =
      std::max(shift.spread.degrees_of_freedom,
               shift.spread.degrees_of_freedom * (before + after - 2) / freedom);
  return more;
}

/// The fewest launches from `fewest` on for which `half_width(launches)`, which falls, is within
/// the margin; absent where there are none up to kMostSettling.
template <typename HalfWidth>
std::optional<int> fewest_within(int fewest, double margin, HalfWidth half_width) {
  if (half_width(kMostSettling) > margin) return std::nullopt;
  int low = fewest;
  int high = kMostSettling;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (half_width(middle) <= margin) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

double standard_error(const LaunchShift& shift) {
  return shift.spread.deviation * std::sqrt(1.0 / shift.before + 1.0 / shift.after);
}

double ShiftQuantiles::at(int degrees_of_freedom) {
  const auto [place, added] = known_.try_emplace(degrees_of_freedom, 0.0);
  if (added) place->second = student_t_quantile(0.975, degrees_of_freedom);
  return place->second;
}

Interval interval_of(const LaunchShift& shift, ShiftQuantiles& quantiles) {
  const double half_width = quantiles.at(shift.spread.degrees_of_freedom) * standard_error(shift);
  return {shift.log, shift.log - half_width, shift.log + half_width};
}

double chance_above(const LaunchShift& shift, double bound) {
  const double distance = shift.log - bound;
  const double error = standard_error(shift);
  if (std::isinf(distance)) return distance > 0.0 ? 0.0 : 1.0;
  if (error == 0.0) return distance > 0.0 ? 0.0 : 1.0;
  return student_t_upper_tail(distance / error, shift.spread.degrees_of_freedom);
}

double chance_below(const LaunchShift& shift, double bound) {
  LaunchShift mirrored = shift;
  mirrored.log = -shift.log;
  return chance_above(mirrored, -bound);
}

std::optional<Settling> launches_to_settle(const LaunchShift& shift, ShiftQuantiles& quantiles,
                                           double lower, double upper) {
  const double margin = std::min(std::abs(shift.log - lower), std::abs(shift.log - upper));
  const auto half_width = [&](int before, int after) {
    const LaunchShift more = with_launches(shift, before, after);
    return quantiles.at(more.spread.degrees_of_freedom) * standard_error(more);
  };
  const auto alone = fewest_within(
      shift.after, margin, [&](int launches) { return half_width(shift.before, launches); });
  if (alone) return Settling{*alone, false};
  const auto both = fewest_within(std::max(shift.before, shift.after), margin,
                                  [&](int launches) { return half_width(launches, launches); });
  return both ? std::optional(Settling{*both, true}) : std::nullopt;
}

}  // namespace linkgain
