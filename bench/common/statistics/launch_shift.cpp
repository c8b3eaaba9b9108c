#include "linkgain/statistics/launch_shift.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace linkgain {
namespace {

/// Degrees of freedom of a variance that is known.
constexpr int kAsNormal = 1'000'000;

/// Gives that of numbers that are off by up to `rounding` in all, by as much on each side.
double rounding_variance(double rounding) { return rounding * rounding / 6.0; }

double variance_of(const ShiftPart& part, int before, int after) {
  return std::pow(part.deviation.deviation, 2) * (part.before / before + part.after / after);
}

double half_width_of(const LaunchShift& shift, ShiftQuantiles& quantiles) {
  return std::max(shift.rounding, quantiles.at(degrees_of_freedom(shift)) * standard_error(shift));
}

/// Returns an interval of a value whose logarithm is known within `half`. Ends are finite, for a
/// record holds no others: two launches that have nothing in common would give infinity.
Interval interval_around(double value, double half) {
  using Limits = std::numeric_limits<double>;
  return {std::max(value * std::exp(-half), Limits::min()),
          std::min(value * std::exp(half), Limits::max())};
}

/// Says what launches of the sides that have the part tell of it.
int observations_of(const ShiftPart& part, int before, int after) {
  return std::max(1, (part.before > 0.0 ? before - 1 : 0) + (part.after > 0.0 ? after - 1 : 0));
}

/// Gives the same shift with other numbers of launches.
LaunchShift with_launches(const LaunchShift& shift, int before, int after) {
  LaunchShift more = shift;
  more.before = before;
  more.after = after;
  for (ShiftPart& part : more.parts) {
    std::optional<int>& degrees = part.deviation.degrees_of_freedom;
    if (!degrees) continue;
    // A baseline made by hand may have millions of both.
    const std::int64_t grown = std::int64_t{*degrees} * observations_of(part, before, after) /
                               observations_of(part, shift.before, shift.after);
    degrees = static_cast<int>(
        std::clamp<std::int64_t>(grown, *degrees, std::numeric_limits<int>::max()));
  }
  return more;
}

/// Gives the fewest launches from `fewest` on for which `half_width(launches)` is within the
/// margin; absent where there are none up to kMostSettling. More of one side alone need not make it
/// narrower: the degrees of freedom go to those of the other side.
template <typename HalfWidth>
std::optional<int> fewest_within(int fewest, double margin, HalfWidth half_width) {
  for (int launches = fewest; launches <= kMostSettling; ++launches) {
    if (half_width(launches) <= margin) return launches;
  }
  return std::nullopt;
}

/// Measures the shift between launches or runs, however many there are.
std::optional<LaunchShift> shift_of_means(const LaunchMean& before, const LaunchMean& after) {
  for (const LaunchMean* side : {&before, &after}) {
    if (side->launches > 1 && !side->deviation) return std::nullopt;
  }
  if (!before.deviation && !after.deviation) return std::nullopt;
  const auto [fewest, most] = std::minmax(before.launches, after.launches);
  LaunchShift shift{.log = std::log(after.time.value / before.time.value),
                    .before = before.launches,
                    .after = after.launches,
                    .rounding = rounding_between(before.resolution, after.resolution)};
  const bool shared =
      !before.deviation || !after.deviation || (fewest < kFewestAlone && most >= kFewestAlone);
  if (shared) {
    const auto both = combine_deviations(before.deviation, after.deviation);
    shift.parts = {{.deviation = *both, .before = 1.0, .after = 1.0}};
  } else {
    shift.parts = {{.deviation = *before.deviation, .before = 1.0},
                   {.deviation = *after.deviation, .after = 1.0}};
  }
  if (fewest < kFewestAlone && !(deviation_of(shift) > 0.0)) return std::nullopt;
  return shift;
}

}  // namespace

std::optional<LaunchDeviation> combine_deviations(const std::optional<LaunchDeviation>& a,
                                                  const std::optional<LaunchDeviation>& b) {
  if (!a || !b) return a ? a : b;
  const bool observed = a->degrees_of_freedom && b->degrees_of_freedom;
  if (a->alone || b->alone || !observed) return a->deviation >= b->deviation ? a : b;
  const int of_a = *a->degrees_of_freedom;
  const int of_b = *b->degrees_of_freedom;
  const double squares = of_a * a->deviation * a->deviation + of_b * b->deviation * b->deviation;
  return LaunchDeviation{.deviation = std::sqrt(squares / (of_a + of_b)),
                         .degrees_of_freedom = of_a + of_b};
}

std::optional<Interval> LaunchMean::interval() const {
  if (!deviation || launches < kFewestOfASide) return std::nullopt;
  const double half =
      student_t_quantile(0.975, deviation->degrees_of_freedom.value()) *
      std::sqrt(std::pow(deviation->deviation, 2) / launches + std::pow(resolution, 2) / 12.0);
  return half > 0.0 ? std::optional(interval_around(time.value, half)) : std::nullopt;
}

std::optional<LaunchShift> shift_between(const LaunchMean& before, const LaunchMean& after) {
  if (std::min(before.launches, after.launches) < kFewestOfASide) return std::nullopt;
  return shift_of_means(before, after);
}

std::optional<LaunchShift> shift_between_runs(const LaunchesOfRuns& before,
                                              const LaunchesOfRuns& after) {
  if (std::min(before.launches, after.launches) < kFewestOfASide) return std::nullopt;
  std::optional<LaunchShift> shift = shift_of_means(before.runs, after.runs);
  if (!shift || !after.deviation || shift->parts.size() > 1) return shift;
  const double own = after.deviation->deviation;
  const double known = before.deviation ? std::min(before.deviation->deviation, own) : own;
  const double share = own > 0.0 ? std::pow(known / own, 2) : 1.0;
  const double missing = 1.0 / after.of_each() - share / before.of_each();
  if (missing > 0.0) shift->parts.push_back({.deviation = *after.deviation, .after = missing});
  return shift;
}

double rounding_between(double resolution, double other) { return (resolution + other) / 2.0; }

double standard_error(const LaunchShift& shift) {
  double variance = 0.0;
  for (const ShiftPart& part : shift.parts) {
    variance += variance_of(part, shift.before, shift.after);
  }
  return std::sqrt(variance + rounding_variance(shift.rounding));
}

std::optional<int> degrees_of_freedom(const LaunchShift& shift) {
  const double rounding = rounding_variance(shift.rounding);
  double sum = rounding;
  double by_freedom = rounding * rounding / kAsNormal;
  bool observed = false;
  for (const ShiftPart& part : shift.parts) {
    const double variance = variance_of(part, shift.before, shift.after);
    sum += variance;
    by_freedom += variance * variance / part.deviation.degrees_of_freedom.value_or(kAsNormal);
    observed = observed || part.deviation.degrees_of_freedom;
  }
  if (!observed) return std::nullopt;
  if (!(sum > 0.0)) return kAsNormal;
  return static_cast<int>(std::clamp(sum * sum / by_freedom, 1.0, double{kAsNormal}));
}

double deviation_of(const LaunchShift& shift) {
  LaunchShift exact = shift;
  exact.rounding = 0.0;
  return standard_error(exact) / std::sqrt(1.0 / shift.before + 1.0 / shift.after);
}

double ShiftQuantiles::at(const std::optional<int>& degrees_of_freedom) {
  constexpr double kNormalQuantile = 1.959963984540054;
  if (!degrees_of_freedom && probability_ == kOf95Percent) return kNormalQuantile;
  const int degrees = degrees_of_freedom.value_or(kAsNormal);
  const auto [place, added] = known_.try_emplace(degrees, 0.0);
  if (added) place->second = student_t_quantile(probability_, degrees);
  return place->second;
}

Interval interval_of(const LaunchShift& shift, ShiftQuantiles& quantiles) {
  const double half_width = half_width_of(shift, quantiles);
  return {shift.log - half_width, shift.log + half_width};
}

Estimate ratio_between(const LaunchMean& own, const LaunchMean& other) {
  Estimate ratio{.value = other.time.value / own.time.value,
                 .replicates = std::min(own.launches, other.launches)};
  const std::optional<LaunchShift> shift = shift_between(own, other);
  if (!shift) return ratio;
  ShiftQuantiles quantiles;
  const double half_width = half_width_of(*shift, quantiles);
  if (half_width > 0.0) ratio.interval = interval_around(ratio.value, half_width);
  return ratio;
}

double chance_above(const LaunchShift& shift, double bound) {
  const double distance = shift.log - bound;
  const double error = standard_error(shift);
  if (std::isinf(distance)) return distance > 0.0 ? 0.0 : 1.0;
  if (shift.rounding > 0.0 && distance <= shift.rounding) return 1.0;
  if (error == 0.0) return distance > 0.0 ? 0.0 : 1.0;
  return student_t_upper_tail(distance / error, degrees_of_freedom(shift).value_or(kAsNormal));
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
    return half_width_of(with_launches(shift, before, after), quantiles);
  };
  const auto alone = fewest_within(
      shift.after, margin, [&](int launches) { return half_width(shift.before, launches); });
  if (alone) return Settling{*alone, false};
  const auto both = fewest_within(std::max(shift.before, shift.after), margin,
                                  [&](int launches) { return half_width(launches, launches); });
  return both ? std::optional(Settling{*both, true}) : std::nullopt;
}

}  // namespace linkgain
