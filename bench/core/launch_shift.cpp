#include "linkgain/core/launch_shift.hpp"

#include <algorithm>
#include <cmath>

#include "linkgain/core/student_t.hpp"

namespace linkgain {
namespace {

bool settled(const LaunchShift& shift, double quantile, double lower, double upper) {
  const Interval interval = interval_of(shift, quantile);
  const bool within = interval.low >= lower && interval.high <= upper;
  return within || interval.low > upper || interval.high < lower;
}

}  // namespace

double standard_error(const LaunchShift& shift) {
  return shift.spread.deviation * std::sqrt(1.0 / shift.before + 1.0 / shift.after);
}

Interval interval_of(const LaunchShift& shift, double quantile) {
  const double half_width = quantile * standard_error(shift);
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

std::optional<Settling> launches_to_settle(const LaunchShift& shift, double quantile, double lower,
                                           double upper) {
  LaunchShift more = shift;
  for (more.after = shift.after + 1; more.after <= kMostSettling; ++more.after) {
    if (settled(more, quantile, lower, upper)) return Settling{more.after, false};
  }
  for (int both = std::max(shift.before, shift.after) + 1; both <= kMostSettling; ++both) {
    more.before = more.after = both;
    if (settled(more, quantile, lower, upper)) return Settling{both, true};
  }
  return std::nullopt;
}

}  // namespace linkgain
