#include "linkgain/analysis/launch_spread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "linkgain/record/evidence.hpp"
#include "linkgain/statistics/variance_ratio.hpp"

namespace linkgain {
namespace {

constexpr Bytes kLatencyBound{std::int64_t{256} << 10};
/// Chance that some case of a pool in which all scatter alike is left out of it.
constexpr double kLeftOutByChance = 0.01;

/// Deviations of one case's log medians from their mean, by launch.
struct Residuals {
  std::size_t place = 0;  ///< of the case among all
  std::vector<std::pair<int, double>> by_launch;
  double sum_of_squares = 0.0;
  int degrees_of_freedom() const { return static_cast<int>(by_launch.size()) - 1; }
  double variance() const { return sum_of_squares / degrees_of_freedom(); }
};

Residuals residuals_of(const CaseLaunches& launches, std::size_t place) {
  Residuals residuals;
  residuals.place = place;
  const double mean = mean_log(launches.launches);
  for (const LaunchMedian& launch : launches.launches) {
    const double residual = std::log(launch.time.value) - mean;
    residuals.by_launch.emplace_back(launch.launch, residual);
    residuals.sum_of_squares += residual * residual;
  }
  return residuals;
}

struct SumOfSquares {
  double value = 0.0;
  int degrees_of_freedom = 0;
};

SumOfSquares total_of(const std::vector<Residuals>& pool) {
  SumOfSquares total;
  for (const Residuals& residuals : pool) {
    total.value += residuals.sum_of_squares;
    total.degrees_of_freedom += residuals.degrees_of_freedom();
  }
  return total;
}

/// What the launches' means over the cases explain.
SumOfSquares between_launches(const std::vector<Residuals>& pool) {
  std::map<int, std::pair<double, int>> launches;
  for (const Residuals& residuals : pool) {
    for (const auto& [launch, residual] : residuals.by_launch) {
      launches[launch].first += residual;
      ++launches[launch].second;
    }
  }
  SumOfSquares between;
  for (const auto& [launch, sum] : launches) between.value += sum.first * sum.first / sum.second;
  between.degrees_of_freedom = static_cast<int>(launches.size()) - 1;
  return between;
}

/// Satterthwaite's, of the sum of what lies between launches and the rest.
int degrees_of_freedom(const SumOfSquares& total, const SumOfSquares& between) {
  const int rest = total.degrees_of_freedom - between.degrees_of_freedom;
  if (rest <= 0 || total.value <= 0.0) {
    return std::min(total.degrees_of_freedom, between.degrees_of_freedom);
  }
  const double inside = std::max(0.0, total.value - between.value);
  const double found =
      total.value * total.value /
      (between.value * between.value / between.degrees_of_freedom + inside * inside / rest);
  constexpr double kRounding = 1e-6;
  return std::clamp(static_cast<int>(found + kRounding), 1, total.degrees_of_freedom);
}

Spread spread_of(const std::vector<Residuals>& pool) {
  const SumOfSquares total = total_of(pool);
  return {.deviation = std::sqrt(total.value / total.degrees_of_freedom),
          .degrees_of_freedom = degrees_of_freedom(total, between_launches(pool))};
}

/// The case of the pool that does not belong to it; the pool's end where all do.
std::vector<Residuals>::iterator find_stranger(std::vector<Residuals>& pool, std::size_t cases) {
  if (pool.size() < 2) return pool.end();
  const auto widest = std::max_element(
      pool.begin(), pool.end(),
      [](const Residuals& a, const Residuals& b) { return a.variance() < b.variance(); });
  const SumOfSquares total = total_of(pool);
  const double others = total.value - widest->sum_of_squares;
  const int others_degrees = total.degrees_of_freedom - widest->degrees_of_freedom();
  if (others <= 0.0) return pool.end();
  const double ratio = widest->variance() / (others / others_degrees);
  const double chance =
      variance_ratio_upper_tail(ratio, widest->degrees_of_freedom(), others_degrees);
  return chance * static_cast<double>(cases) < kLeftOutByChance ? widest : pool.end();
}

using Spreads = std::vector<std::optional<Spread>>;

void take_out_strangers(std::vector<Residuals>& pool, Spreads& spreads) {
  const std::size_t cases = pool.size();
  for (auto stranger = find_stranger(pool, cases); stranger != pool.end();
       stranger = find_stranger(pool, cases)) {
    spreads[stranger->place] = {.deviation = std::sqrt(stranger->variance()),
                                .degrees_of_freedom = stranger->degrees_of_freedom(),
                                .alone = true};
    pool.erase(stranger);
  }
}

}  // namespace

SizeClass size_class_of(Bytes size) {
  if (size < kLatencyBound) return SizeClass::latency;
  return size < kJudgedSize ? SizeClass::middle : SizeClass::bandwidth;
}

std::string_view name_of(SizeClass size_class) {
  switch (size_class) {
    case SizeClass::latency:
      return "latency";
    case SizeClass::middle:
      return "middle";
    case SizeClass::bandwidth:
      return "bandwidth";
  }
  return "unknown";
}

std::string spread_pool(const Case& definition, const std::string& variant) {
  return fmt::format("{}/{}/{}{}/{}", variant, name_of(definition.operation),
                     name_of(definition.launch), definition.kernel ? "/kernel" : "",
                     name_of(size_class_of(definition.size)));
}

std::vector<std::optional<Spread>> pooled_spreads(std::span<const CaseLaunches> cases) {
  std::map<std::string, std::vector<std::size_t>> members;
  std::map<std::string, std::vector<Residuals>> pools;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string name = spread_pool(cases[i].definition, cases[i].variant);
    members[name].push_back(i);
    if (cases[i].launches.size() > 1) pools[name].push_back(residuals_of(cases[i], i));
  }
  Spreads spreads(cases.size());
  for (auto& [name, pool] : pools) {
    take_out_strangers(pool, spreads);
    if (!(total_of(pool).value > 0.0)) continue;
    const Spread shared = spread_of(pool);
    for (const std::size_t place : members[name]) {
      if (!spreads[place]) spreads[place] = shared;
    }
  }
  return spreads;
}

double assumed_deviation(Bytes size) {
  return size >= kSteadySize ? kAssumedSpread : kAssumedSmallSpread;
}

std::optional<Spread> combine_spreads(const std::optional<Spread>& a,
                                      const std::optional<Spread>& b) {
  if (!a || !b) return a ? a : b;
  if (a->alone || b->alone) return a->deviation >= b->deviation ? a : b;
  const int degrees = a->degrees_of_freedom + b->degrees_of_freedom;
  const double squares = a->degrees_of_freedom * a->deviation * a->deviation +
                         b->degrees_of_freedom * b->deviation * b->deviation;
  return Spread{.deviation = std::sqrt(squares / degrees), .degrees_of_freedom = degrees};
}

}  // namespace linkgain
