#include "linkgain/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace linkgain {
namespace {

std::vector<double> sorted_values(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("an estimate needs at least one value");
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

/// The value that `share` of all lie below; `sorted` ascends.
double quantile(std::span<const double> sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

}  // namespace

double median(std::span<const double> values) { return quantile(sorted_values(values), 0.5); }

Quartiles quartiles(std::span<const double> values) {
  const std::vector<double> sorted = sorted_values(values);
  return {quantile(sorted, 0.25), quantile(sorted, 0.75)};
}

}  // namespace linkgain
