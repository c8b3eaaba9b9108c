#include "linkgain/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "linkgain/statistics/distributions.hpp"

namespace linkgain {
namespace {

/// Ten groups are the fewest with some room in the signed-rank interval: of 55 Walsh averages the
/// 9th from either end bound it, so one odd group does not set an end.
constexpr std::size_t kFewestGroups = 10;

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
std::size_t covering_rank(std::span<const double> distribution, double confidence) {
  std::size_t k = 0;
  while (k < distribution.size() && 1.0 - 2.0 * distribution[k] >= confidence) ++k;
  return k;
}

/// Their median, and the k-th smallest and largest of them; reorders them.
SignedRankEstimate centre_of(std::vector<double>& values, std::size_t k) {
  SignedRankEstimate result;
  result.estimate = median_in_place(values);
  if (k == 0) return result;
  result.low = order_statistic(values, k - 1);
  result.high = order_statistic(values, values.size() - k);
  return result;
}

/// Of the mean of so many values that scatter like these.
double squared_error(std::span<const double> values) {
  const double centre = mean(values);
  double squares = 0.0;
  for (const double value : values) squares += std::pow(value - centre, 2);
  const double n = static_cast<double>(values.size());
  return squares / (n - 1.0) / n;
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
  const std::vector<double> distribution =
      signed_rank_distribution(static_cast<int>(values.size()));
  return centre_of(averages, covering_rank(distribution, confidence));
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
  const double standard_error = std::sqrt(squared_error(values));
  const double half_width =
      standard_error *
      student_t_quantile(0.5 + confidence / 2.0, static_cast<int>(values.size()) - 1);
  result.low = result.estimate - half_width;
  result.high = result.estimate + half_width;
  return result;
}

SignedRankEstimate welch_difference(std::span<const double> first, std::span<const double> other,
                                    double confidence) {
  require_values(first);
  require_values(other);
  require_confidence(confidence);
  SignedRankEstimate result;
  result.estimate = mean(other) - mean(first);
  if (first.size() < 2 || other.size() < 2) return result;
  const double a = squared_error(first);
  const double b = squared_error(other);
  const auto free = [](std::span<const double> values) {
    return static_cast<double>(values.size()) - 1.0;
  };
  const double weight = a * a / free(first) + b * b / free(other);
  const double freedom = weight > 0.0 ? (a + b) * (a + b) / weight : free(first) + free(other);
  const double half_width =
      std::sqrt(a + b) *
      student_t_quantile(0.5 + confidence / 2.0, std::max(1, static_cast<int>(freedom)));
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

Groups grouped_while_correlated(std::span<const double> values) {
  Groups groups{{values.begin(), values.end()}};
  groups.correlated = lag1_autocorrelation(groups.values) > kCorrelationLimit;
  while (groups.correlated && values.size() / (2 * groups.length) >= kFewestGroups) {
    groups.length *= 2;
    groups.values = group_means(values, groups.length);
    groups.correlated = lag1_autocorrelation(groups.values) > kCorrelationLimit;
  }
  return groups;
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
