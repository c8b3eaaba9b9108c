#include "linkgain/summary/curve_steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "linkgain/cases/case.hpp"

namespace linkgain {
namespace {

using Points = std::span<const CurvePoint>;

double bytes(const CurvePoint& point) { return static_cast<double>(point.size.value); }

/// Says how many times larger the second one's message is.
double size_ratio(const CurvePoint& from, const CurvePoint& to) { return bytes(to) / bytes(from); }

/// Gives 0 where bound by latency, 1 where by bandwidth.
double growth_exponent(const CurvePoint& from, const CurvePoint& to) {
  return std::log(to.time.value / from.time.value) / std::log(size_ratio(from, to));
}

/// Gives seconds per byte more. Never negative: a trend does not fall.
double slope(const CurvePoint& from, const CurvePoint& to) {
  return std::max(0.0, (to.time.value - from.time.value) / (bytes(to) - bytes(from)));
}

/// Gives the steepest of the two intervals that end at points[i]; there is one at least.
double slope_before(Points points, std::size_t i) {
  const double last = slope(points[i - 1], points[i]);
  return i < 2 ? last : std::max(last, slope(points[i - 2], points[i - 1]));
}

/// Gives that of the interval that begins at points[i], and of the next one too where that is near:
/// where it begins no further away, by ratio of sizes, than points[i] is from the size before.
/// Never negative; there is one interval at least.
double exponent_after(Points points, std::size_t i) {
  constexpr double kRounding = 1.01;
  const double first = std::max(0.0, growth_exponent(points[i], points[i + 1]));
  const bool next_is_near =
      size_ratio(points[i], points[i + 1]) <= kRounding * size_ratio(points[i - 1], points[i]);
  return i + 2 < points.size() && next_is_near
             ? std::max(first, growth_exponent(points[i + 1], points[i + 2]))
             : first;
}

/// Judges what lies between points[i] and the next one.
bool rises(Points points, std::size_t i) {
  const CurvePoint& from = points[i];
  const CurvePoint& to = points[i + 1];
  const double before = std::max(points[i - 1].middle_half.high, from.middle_half.high);
  const double after = std::min(to.middle_half.low, points[i + 2].middle_half.low);
  const double straight = before + slope_before(points, i) * (bytes(to) - bytes(from));
  const double power = before * std::pow(size_ratio(from, to), exponent_after(points, i + 1));
  return after >= kLeastStep * std::max(straight, power);
}

/// Says what the sizes before points[i] would have in its place at least: on their straight line.
double low_before(Points points, std::size_t i) {
  const double trend = i < 2 ? 0.0 : slope(points[i - 2], points[i - 1]);
  return points[i - 1].middle_half.low + trend * (bytes(points[i]) - bytes(points[i - 1]));
}

/// Says what the sizes after points[i] would have in its place at most.
double high_after(Points points, std::size_t i) {
  const double trend = i + 2 < points.size() ? slope(points[i + 1], points[i + 2]) : 0.0;
  return points[i + 1].middle_half.high - trend * (bytes(points[i + 1]) - bytes(points[i]));
}

/// Judges what lies between points[i] and the next one.
bool falls(Points points, std::size_t i) {
  const double before = std::min(points[i].middle_half.low, low_before(points, i));
  const double after = std::max(points[i + 1].middle_half.high, high_after(points, i + 1));
  return before >= kLeastStep * after;
}

/// Sorts points in ascending order, each size once, with times above zero.
std::vector<CurvePoint> in_order(std::vector<CurvePoint> points) {
  std::erase_if(points, [](const CurvePoint& point) { return point.time <= Seconds{0.0}; });
  std::ranges::stable_sort(points, {}, &CurvePoint::size);
  const auto last =
      std::unique(points.begin(), points.end(),
                  [](const CurvePoint& a, const CurvePoint& b) { return a.size == b.size; });
  points.erase(last, points.end());
  return points;
}

CurvePoint point_of(const Case& definition, const VariantResult& result,
                    const std::vector<double>& times) {
  const double time = result.time->value;
  CurvePoint point{
      definition.size, *result.time, times.empty() ? Interval{time, time} : quartiles(times), {}};
  if (result.evidence) point.plan = result.evidence->plan;
  return point;
}

/// Tells whether its times may well be off by as much as a step is.
bool wanders(const CaseResult& result) {
  constexpr double kMost = 0.02;
  return !result.converged && std::ranges::any_of(result.ratios, [](const RatioResult& each) {
    return relative_half_width(each.ratio).value_or(1.0) > kMost;
  });
}

}  // namespace

std::vector<CurveStep> find_steps(std::vector<CurvePoint> points) {
  points = in_order(std::move(points));
  std::vector<CurveStep> steps;
  for (std::size_t i = 1; i + 2 < points.size(); ++i) {
    if (!rises(points, i) && !falls(points, i)) continue;
    const double ratio = size_ratio(points[i], points[i + 1]);
    steps.push_back({points[i], points[i + 1],
                     std::pow(ratio, growth_exponent(points[i - 1], points[i])),
                     std::pow(ratio, growth_exponent(points[i + 1], points[i + 2]))});
  }
  return steps;
}

std::vector<CurvePoint> curve_points(const Record& record, std::string_view curve,
                                     std::string_view variant) {
  std::vector<CurvePoint> points;
  for (const CaseResult& result : record.cases) {
    if (curve_name(result.definition) != curve || wanders(result)) continue;
    for (std::size_t j = 0; j < result.variants.size(); ++j) {
      const VariantResult& entry = result.variants[j];
      if (entry.variant != variant || !entry.time || has_wrong_data(entry)) continue;
      std::vector<double> times;
      for (const Sample& sample : result.samples) {
        if (sample.variant == static_cast<int>(j)) times.push_back(sample.time().value);
      }
      points.push_back(point_of(result.definition, entry, times));
    }
  }
  return points;
}

}  // namespace linkgain
