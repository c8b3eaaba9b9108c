#include "linkgain/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "linkgain/statistics/distributions.hpp"

namespace linkgain {
namespace {

std::vector<double> sorted_values(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("an estimate needs at least one value");
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

/// Returns the value that `share` of all lie below; `sorted` ascends.
double quantile(std::span<const double> sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

}  // namespace

std::optional<double> low_of(const std::optional<Interval>& interval) {
  return interval ? std::optional(interval->low) : std::nullopt;
}

std::optional<double> high_of(const std::optional<Interval>& interval) {
  return interval ? std::optional(interval->high) : std::nullopt;
}

double median(std::span<const double> values) { return quantile(sorted_values(values), 0.5); }

Interval quartiles(std::span<const double> values) {
  const std::vector<double> sorted = sorted_values(values);
  return {quantile(sorted, 0.25), quantile(sorted, 0.75)};
}

Estimate student_mean(std::span<const double> values, double confidence) {
  if (values.empty()) throw std::invalid_argument("an estimate needs at least one value");
  const auto count = static_cast<double>(values.size());
  Estimate result{.value = std::accumulate(values.begin(), values.end(), 0.0) / count,
                  .replicates = static_cast<int>(values.size())};
  if (values.size() < 2) return result;
  double squares = 0.0;
  for (const double value : values) squares += std::pow(value - result.value, 2);
  const int freedom = static_cast<int>(values.size()) - 1;
  const double half_width =
      student_t_quantile(0.5 + confidence / 2.0, freedom) * std::sqrt(squares / freedom / count);
  result.interval = {result.value - half_width, result.value + half_width};
  return result;
}

std::optional<double> relative_half_width(const Estimate& ratio) {
  if (!ratio.interval) return std::nullopt;
  return 0.5 * std::log(ratio.interval->high / ratio.interval->low);
}

double less_time(double ratio) { return 1.0 - 1.0 / ratio; }

}  // namespace linkgain
