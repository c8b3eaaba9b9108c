#include "linkgain/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <stdexcept>

namespace linkgain {
namespace {

std::vector<double> sorted_values(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("an estimate needs at least one value");
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return sorted;
}

/// Returns the value that `share` of all lie below; `sorted` ascends.
double quantile(std::span<const double> sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

/// Returns the continued fraction of A&S 26.5.8, evaluated from the front by the modified Lentz
/// method. Converges within a few dozen terms where x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  constexpr int kMostTerms = 100'000;
  const auto not_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double numerator = 1.0;
  double denominator = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
  double fraction = denominator;
  for (int m = 1; m < kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    denominator = 1.0 / not_zero(1.0 + even * denominator);
    numerator = not_zero(1.0 + even / numerator);
    fraction *= denominator * numerator;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    denominator = 1.0 / not_zero(1.0 + odd * denominator);
    numerator = not_zero(1.0 + odd / numerator);
    const double change = denominator * numerator;
    fraction *= change;
    if (std::abs(change - 1.0) <= kEpsilon) break;
  }
  return fraction;
}

/// Returns the regularised incomplete beta function I_x(a, b) with y = 1 - x given apart, so that
/// neither end loses digits (Abramowitz and Stegun, 26.5.8).
double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0.0) return 0.0;
  if (y <= 0.0) return 1.0;
  const double log_front =
      std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(y);
  const double front = std::exp(log_front);
  if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
  return 1.0 - front * beta_fraction(b, a, y) / b;
}

/// Returns P(|T| <= t): t / sqrt(degrees of freedom) = tan(angle) maps all t >= 0 to a quarter
/// turn, where it is I_{sin^2}(1/2, degrees / 2) and rises from 0 to 1.
double probability_within(double angle, int degrees_of_freedom) {
  const double sine = std::sin(angle);
  const double cosine = std::cos(angle);
  return incomplete_beta(0.5, degrees_of_freedom / 2.0, sine * sine, cosine * cosine);
}

/// A single sample that takes longer is a spike. One that takes less is not, but normal tails are
/// trusted less far for it than for a mean.
constexpr double kLoneFactor = 2.0;

struct Moments {
  double mean = 0.0;
  double sum_of_squares = 0.0;
};

Moments moments_of(std::span<const double> values) {
  Moments moments;
  moments.mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  for (const double value : values) {
    moments.sum_of_squares += (value - moments.mean) * (value - moments.mean);
  }
  return moments;
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

bool is_precise(const Estimate& ratio, double half_width) {
  return relative_half_width(ratio).value_or(std::numeric_limits<double>::infinity()) <= half_width;
}

Estimate inverse_of(const Estimate& ratio) {
  Estimate inverse{.value = 1.0 / ratio.value, .interval = {}, .replicates = ratio.replicates};
  if (ratio.interval) inverse.interval = {1.0 / ratio.interval->high, 1.0 / ratio.interval->low};
  return inverse;
}

double less_time(double ratio) { return 1.0 - 1.0 / ratio; }

double student_t_quantile(double probability, int degrees_of_freedom) {
  if (!(probability > 0.0 && probability < 1.0)) {
    throw std::invalid_argument("a quantile's probability lies between 0 and 1");
  }
  if (degrees_of_freedom < 1) throw std::invalid_argument("Student's t has a degree of freedom");
  if (probability < 0.5) return -student_t_quantile(1.0 - probability, degrees_of_freedom);
  const double within = 2.0 * probability - 1.0;
  double low = 0.0;
  double high = std::numbers::pi / 2.0;
  for (double middle = high / 2.0; low < middle && middle < high; middle = (low + high) / 2.0) {
    (probability_within(middle, degrees_of_freedom) < within ? low : high) = middle;
  }
  return std::sqrt(static_cast<double>(degrees_of_freedom)) * std::tan((low + high) / 2.0);
}

double student_t_upper_tail(double t, int degrees_of_freedom) {
  if (degrees_of_freedom < 1) throw std::invalid_argument("Student's t has a degree of freedom");
  if (std::isnan(t)) throw std::invalid_argument("Student's t is a number");
  if (t < 0.0) return 1.0 - student_t_upper_tail(-t, degrees_of_freedom);
  if (std::isinf(t)) return 0.0;
  const double sum = degrees_of_freedom + t * t;
  return 0.5 *
         incomplete_beta(degrees_of_freedom / 2.0, 0.5, degrees_of_freedom / sum, t * t / sum);
}

double variance_ratio_upper_tail(double ratio, int above, int below) {
  if (above < 1 || below < 1) throw std::invalid_argument("a variance has a degree of freedom");
  if (!(ratio >= 0.0)) throw std::invalid_argument("a ratio of variances is not negative");
  if (std::isinf(ratio)) return 0.0;
  const double sum = below + above * ratio;
  return incomplete_beta(below / 2.0, above / 2.0, below / sum, above * ratio / sum);
}

std::vector<bool> benjamini_hochberg(std::span<const double> p_values, double rate) {
  std::vector<double> ordered(p_values.begin(), p_values.end());
  std::ranges::sort(ordered);
  if (!ordered.empty() && !(ordered.front() >= 0.0 && ordered.back() <= 1.0)) {
    throw std::invalid_argument("a p value lies between 0 and 1");
  }
  double threshold = -1.0;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const double line = rate * static_cast<double>(i + 1) / static_cast<double>(ordered.size());
    if (ordered[i] <= line) threshold = ordered[i];
  }
  std::vector<bool> rejected;
  for (const double p : p_values) rejected.push_back(p <= threshold);
  return rejected;
}

TestsOfABound benjamini_hochberg_beyond(std::span<const double> p_values, double rate) {
  const double most = p_values.size() > 1 ? kPlainlyWithin : 1.0;
  TestsOfABound tests;
  std::vector<double> quotients;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (p_values[i] > most) continue;  // one that is no number is refused below
    tests.in_question.push_back(i);
    quotients.push_back(p_values[i] / most);
  }
  const std::vector<bool> among_these = benjamini_hochberg(quotients, rate);
  tests.rejected.resize(p_values.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < quotients.size(); ++i) {
    tests.rejected[tests.in_question[i]] = among_these[i];
    count += among_these[i] ? 1 : 0;
  }
  const auto all = static_cast<double>(std::max<std::size_t>(1, quotients.size()));
  tests.next = most * rate * static_cast<double>(std::min(count + 1, quotients.size())) / all;
  return tests;
}

std::optional<LevelChange> find_level_change(std::span<const std::vector<double>> launches,
                                             double least) {
  double all_squares = 0.0;
  std::size_t freedom = 0;
  std::size_t places = 0;
  for (const std::vector<double>& launch : launches) {
    if (launch.size() < kFewestForLevelChange) continue;
    all_squares += moments_of(launch).sum_of_squares;
    freedom += launch.size() - 1;
    places += launch.size() - 2;  // the first and the last, in one direction each, are one
  }
  std::optional<LevelChange> found;
  double smallest = kLevelChangeByChance;
  for (std::size_t index = 0; index < launches.size(); ++index) {
    const std::span<const double> launch(launches[index]);
    if (launch.size() < kFewestForLevelChange) continue;
    const double others = all_squares - moments_of(launch).sum_of_squares;
    for (std::size_t before = 1; before < launch.size(); ++before) {
      const Moments first = moments_of(launch.first(before));
      const Moments last = moments_of(launch.subspan(before));
      const double change = last.mean - first.mean;
      const bool first_alone = before == 1;
      const bool lone = first_alone || before + 1 == launch.size();
      if (lone && first_alone != (change > 0.0)) continue;
      if (std::abs(change) < (lone ? kLoneFactor * least : least)) continue;
      const double variance =
          (others + first.sum_of_squares + last.sum_of_squares) / static_cast<double>(freedom - 1);
      const double error =
          std::sqrt(variance * (1.0 / static_cast<double>(before) +
                                1.0 / static_cast<double>(launch.size() - before)));
      const double t = error > 0.0 ? std::abs(change) / error : std::numeric_limits<double>::max();
      const double chance = 2.0 * static_cast<double>(places) *
                            student_t_upper_tail(t, static_cast<int>(freedom - 1));
      if (chance >= smallest) continue;
      smallest = chance;
      found = LevelChange{index, before, change};
    }
  }
  return found;
}

}  // namespace linkgain
