#include "linkgain/analysis/launch_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "linkgain/record/evidence.hpp"
#include "linkgain/statistics/distributions.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

/// Finds the entry of a case and variant, or adds it.
class Entries {
 public:
  CaseLaunches& entry(const Case& definition, const std::string& variant) {
    const auto [place, added] =
        places_.try_emplace({case_name(definition), variant}, entries_.size());
    if (added) entries_.push_back({definition, variant, {}});
    return entries_[place->second];
  }
  std::vector<CaseLaunches> take() { return std::move(entries_); }

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
  std::vector<CaseLaunches> entries_;
};

std::string why_missing(const VariantResult& result, const LaunchTimes& times) {
  if (result.skipped) return "skipped: " + *result.skipped;
  if (times.empty()) return "no samples";
  return fmt::format("fewer than {} samples in every launch", kFewestSamples);
}

void add_result(CaseLaunches& entry, const VariantResult& result, const LaunchTimes& times,
                int first_launch) {
  for (const auto& [launch, values] : times) {
    if (values.size() < static_cast<std::size_t>(kFewestSamples)) continue;
    entry.launches.push_back({first_launch + launch, Seconds{median(values)}});
  }
  if (entry.launches.empty()) {
    entry.missing = why_missing(result, times);
  } else {
    entry.missing.clear();
  }
  if (!times.empty() && result.path == Path::unknown) entry.path_unknown = true;
  const bool is_new =
      std::find(entry.paths.begin(), entry.paths.end(), result.path) == entry.paths.end();
  if (!times.empty() && result.path != Path::unknown && is_new) entry.paths.push_back(result.path);
  if (has_wrong_data(result) && entry.wrong_data.empty()) {
    entry.wrong_data = describe_wrong(entry.definition, *result.verification);
  }
  entry.unhealthy_samples += result.health.unhealthy_samples;
}

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

/// The same shift with other numbers of launches.
LaunchShift with_launches(const LaunchShift& shift, int before, int after) {
  const int freedom = std::max(1, shift.before + shift.after - 2);
  LaunchShift more = shift;
  more.before = before;
  more.after = after;
  more.spread.degrees_of_freedom =
      std::max(shift.spread.degrees_of_freedom,
               shift.spread.degrees_of_freedom * (before + after - 2) / freedom);
  return more;
}

/// The fewest launches from `fewest` on for which `half_width(launches)`, which falls, is within
/// the margin; absent where there are none up to kMostSettling.
template <typename HalfWidth>
std::optional<int> fewest_within(int fewest, double margin, HalfWidth half_width) {
  if (half_width(kMostSettling) > margin) return std::nullopt;
  int low = fewest;
  int high = kMostSettling;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (half_width(middle) <= margin) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

std::vector<CaseLaunches> launch_medians(std::span<const NamedRecord> records) {
  Entries entries;
  int first_launch = 0;
  for (const NamedRecord& source : records) {
    for (const CaseResult& result : source.record.cases) {
      for (std::size_t j = 0; j < result.variants.size(); ++j) {
        CaseLaunches& entry = entries.entry(result.definition, result.variants[j].variant);
        add_result(entry, result.variants[j], launch_times(result, j), first_launch);
      }
    }
    first_launch += count_launches(source.record);
  }
  return entries.take();
}

double mean_log(std::span<const LaunchMedian> launches) {
  double sum = 0.0;
  for (const LaunchMedian& launch : launches) sum += std::log(launch.time.value);
  return sum / static_cast<double>(launches.size());
}

Seconds geometric_mean(std::span<const LaunchMedian> launches) {
  return launches.size() == 1 ? launches.front().time : Seconds{std::exp(mean_log(launches))};
}

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

double standard_error(const LaunchShift& shift) {
  return shift.spread.deviation * std::sqrt(1.0 / shift.before + 1.0 / shift.after);
}

double ShiftQuantiles::at(int degrees_of_freedom) {
  const auto [place, added] = known_.try_emplace(degrees_of_freedom, 0.0);
  if (added) place->second = student_t_quantile(0.975, degrees_of_freedom);
  return place->second;
}

Interval interval_of(const LaunchShift& shift, ShiftQuantiles& quantiles) {
  const double half_width = quantiles.at(shift.spread.degrees_of_freedom) * standard_error(shift);
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

std::optional<Settling> launches_to_settle(const LaunchShift& shift, ShiftQuantiles& quantiles,
                                           double lower, double upper) {
  const double margin = std::min(std::abs(shift.log - lower), std::abs(shift.log - upper));
  const auto half_width = [&](int before, int after) {
    const LaunchShift more = with_launches(shift, before, after);
    return quantiles.at(more.spread.degrees_of_freedom) * standard_error(more);
  };
  const auto alone = fewest_within(
      shift.after, margin, [&](int launches) { return half_width(shift.before, launches); });
  if (alone) return Settling{*alone, false};
  const auto both = fewest_within(std::max(shift.before, shift.after), margin,
                                  [&](int launches) { return half_width(launches, launches); });
  return both ? std::optional(Settling{*both, true}) : std::nullopt;
}

}  // namespace linkgain
