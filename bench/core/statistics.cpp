#include "linkgain/core/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>

#include "linkgain/core/student_t.hpp"

namespace linkgain {
namespace {

void require_values(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("an estimate needs at least one value");
}

void require_confidence(double confidence) {
  if (!(confidence > 0.0 && confidence < 1.0)) {
    throw std::invalid_argument("a confidence lies between 0 and 1");
  }
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The value that would stand at `position` (0 first) if `values` were sorted; reorders them.
double order_statistic(std::vector<double>& values, std::size_t position) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(position);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

double median_in_place(std::vector<double>& values) {
  const std::size_t middle = values.size() / 2;
  const double upper = order_statistic(values, middle);
  if (values.size() % 2 == 1) return upper;
  const auto end_of_lower = values.begin() + static_cast<std::ptrdiff_t>(middle);
  return std::midpoint(*std::max_element(values.begin(), end_of_lower), upper);
}

/// The value that `share` of all lie below; `sorted` ascends.
double quantile(std::span<const double> sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

/// (x_i + x_j) / 2 for all i <= j.
std::vector<double> walsh_averages(std::span<const double> values) {
  std::vector<double> averages;
  averages.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) {
      averages.push_back(std::midpoint(values[i], values[j]));
    }
  }
  return averages;
}

/// The k for which the interval from the k-th smallest to the k-th largest Walsh average is the
/// shortest that still covers with `confidence`: coverage is 1 - 2 P(T+ <= k - 1). Zero: none does.
std::size_t walsh_rank(std::size_t n, double confidence) {
  const std::vector<double> distribution = signed_rank_distribution(static_cast<int>(n));
  std::size_t k = 0;
  while (k < distribution.size() && 1.0 - 2.0 * distribution[k] >= confidence) ++k;
  return k;
}

}  // namespace

double median(std::span<const double> values) {
  require_values(values);
  std::vector<double> copy(values.begin(), values.end());
  return median_in_place(copy);
}

Quartiles quartiles(std::span<const double> values) {
  require_values(values);
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return {quantile(sorted, 0.25), quantile(sorted, 0.75)};
}

SignedRankEstimate hodges_lehmann(std::span<const double> values, double confidence) {
  require_values(values);
  require_confidence(confidence);
  std::vector<double> averages = walsh_averages(values);
  SignedRankEstimate result;
  result.estimate = median_in_place(averages);
  const std::size_t k = walsh_rank(values.size(), confidence);
  if (k > 0) {
    result.low = order_statistic(averages, k - 1);
    result.high = order_statistic(averages, averages.size() - k);
  }
  return result;
}

// Rank i is in T+ with probability 1/2: one convolution for each rank. Working with probabilities
// instead of counts keeps every figure in range (2^-n at the ends) where counts overflow at n = 64.
std::vector<double> signed_rank_distribution(int n) {
  if (n < 0) throw std::invalid_argument("a signed-rank distribution needs a sample size from 0");
  const std::size_t most = static_cast<std::size_t>(n) * (static_cast<std::size_t>(n) + 1) / 2;
  std::vector<double> probability(most + 1, 0.0);
  probability[0] = 1.0;
  std::size_t reached = 0;
  for (std::size_t rank = 1; rank <= static_cast<std::size_t>(n); ++rank) {
    reached += rank;
    for (std::size_t k = reached + 1; k-- > 0;) {
      const double with_rank = k >= rank ? probability[k - rank] : 0.0;
      probability[k] = 0.5 * (probability[k] + with_rank);
    }
  }
  std::partial_sum(probability.begin(), probability.end(), probability.begin());
  return probability;
}

SignedRankEstimate student_mean(std::span<const double> values, double confidence) {
  require_values(values);
  require_confidence(confidence);
  SignedRankEstimate result;
  result.estimate = mean(values);
  if (values.size() < 2) return result;
  double squares = 0.0;
  for (const double value : values) squares += std::pow(value - result.estimate, 2);
  const double n = static_cast<double>(values.size());
  const double standard_error = std::sqrt(squares / (n - 1.0) / n);
  const double half_width =
      standard_error * student_t_quantile(0.5 + confidence / 2.0, static_cast<int>(n) - 1);
  result.low = result.estimate - half_width;
  result.high = result.estimate + half_width;
  return result;
}

double lag1_autocorrelation(std::span<const double> values) {
  if (values.size() < 3) return 0.0;
  // Asked of the values, not of the sum of squares, which rounding leaves above zero.
  const auto [smallest, largest] = std::minmax_element(values.begin(), values.end());
  if (*smallest == *largest) return 0.0;
  const double centre = mean(values);
  double squares = 0.0;
  double products = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += std::pow(values[i] - centre, 2);
    if (i > 0) products += (values[i] - centre) * (values[i - 1] - centre);
  }
  return products / squares;
}

std::vector<double> group_means(std::span<const double> values, int group) {
  if (group < 1) throw std::invalid_argument("a group holds at least one value");
  const auto length = static_cast<std::size_t>(group);
  std::vector<double> means;
  means.reserve(values.size() / length);
  for (std::size_t begin = 0; begin + length <= values.size(); begin += length) {
    means.push_back(mean(values.subspan(begin, length)));
  }
  return means;
}

}  // namespace linkgain
