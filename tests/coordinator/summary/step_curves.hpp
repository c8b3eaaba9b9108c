#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/cases/selection.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "linkgain/summary/curve_steps.hpp"

/// Curves for tests of their steps.
namespace linkgain::test {

/// Seconds for so many bytes.
using Model = std::function<double(double)>;

inline constexpr double kMicrosecond = 1e-6;
inline constexpr double kMebibyte = 1024.0 * 1024.0;
inline CurvePoint point(Bytes size, double seconds) {
  return {size, Seconds{seconds}, Interval{seconds, seconds}, {}};
}

inline std::vector<CurvePoint> curve(std::string_view sizes, const Model& model) {
  std::vector<CurvePoint> points;
  for (const Bytes size : parse_sizes(sizes)) {
    points.push_back(point(size, model(static_cast<double>(size.value))));
  }
  return points;
}

/// Starts at 256 KiB; times are in microseconds.
inline std::vector<CurvePoint> doubling(const std::vector<double>& times) {
  std::vector<CurvePoint> points;
  for (std::size_t i = 0; i < times.size(); ++i) {
    points.push_back(point(Bytes{std::int64_t{1} << (18 + i)}, times[i] * kMicrosecond));
  }
  return points;
}

/// Makes each time the median of 20 samples of this relative deviation, with their quartiles.
inline std::vector<CurvePoint> sampled(std::vector<CurvePoint> points, double deviation,
                                       unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> noise(0.0, deviation);
  for (CurvePoint& point : points) {
    std::vector<double> times(20);
    std::ranges::generate(times, [&] { return point.time.value * std::exp(noise(generator)); });
    point = {point.size, Seconds{median(times)}, quartiles(times), {}};
  }
  return points;
}

/// Returns the sizes that the steps lead to.
inline std::vector<std::string> steps_to(std::vector<CurvePoint> points) {
  std::vector<std::string> sizes;
  for (const CurveStep& step : find_steps(std::move(points))) {
    sizes.push_back(exact_bytes(step.to.size));
  }
  return sizes;
}

}  // namespace linkgain::test
