#include "linkgain/analysis/launch_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "linkgain/analysis/judgement.hpp"
#include "linkgain/analysis/path_validity.hpp"
#include "linkgain/analysis/program_path.hpp"
#include "linkgain/analysis/variant_environment.hpp"
#include "linkgain/record/evidence.hpp"
#include "linkgain/record/limits.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/telemetry/program_traffic.hpp"

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
  /// Gives all, without launches of cases that had wrong data in any record.
  std::vector<CaseLaunches> take() {
    for (CaseLaunches& each : entries_) {
      if (each.wrong_data.empty()) continue;
      each.launches.clear();
      each.runs.clear();
    }
    return std::move(entries_);
  }

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
  std::vector<CaseLaunches> entries_;
};

bool is_sampled(const CaseResult& result, std::size_t variant) {
  return std::ranges::any_of(result.samples, [&](const Sample& sample) {
    return sample.variant == static_cast<int>(variant);
  });
}

std::string why_missing(const CaseResult& result, std::size_t variant) {
  if (result.variants[variant].skipped) return "skipped: " + why_skipped(result.variants[variant]);
  if (!is_sampled(result, variant)) return "no samples";
  return fmt::format("fewer than {} samples in every launch", kFewestSamples);
}

/// Where a record stands among all.
struct RecordPlace {
  int record = 0;
  int first_launch = 0;
};

void add_result(CaseLaunches& entry, const Record& record, const CaseResult& of, std::size_t place,
                const RecordPlace& among_all) {
  const VariantResult& result = of.variants[place];
  for (const LaunchMedian& median : counted_launches(record, of, place)) {
    entry.launches.push_back(
        {among_all.first_launch + median.launch, median.time, median.resolution});
    entry.runs.push_back(among_all.record);
  }
  if (!entry.launches.empty()) {
    entry.missing.clear();
  } else {
    const std::string refused = why_no_launch_counts(record, of, place);
    entry.missing = refused.empty() ? why_missing(of, place) : refused;
  }
  const bool measured = is_sampled(of, place);
  if (measured && result.path == Path::unknown) entry.path_unknown = true;
  const bool is_new = std::ranges::find(entry.paths, result.path) == entry.paths.end();
  if (measured && result.path != Path::unknown && is_new) entry.paths.push_back(result.path);
  if (has_wrong_data(result) && entry.wrong_data.empty()) {
    entry.wrong_data = describe_wrong(entry.definition, *result.verification);
  }
  entry.unhealthy_samples += result.health.unhealthy_samples;
  entry.disturbance = entry.disturbance + disturbance_of(record, result);
}

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
  // Logs of what is relative to the first, so that launches that agree have no residual at all.
  const double first = launches.launches.front().time.value;
  double mean = 0.0;
  for (const LaunchMedian& launch : launches.launches) {
    mean += std::log(launch.time.value / first) / static_cast<double>(launches.launches.size());
  }
  for (const LaunchMedian& launch : launches.launches) {
    const double residual = std::log(launch.time.value / first) - mean;
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

/// Says what the launches' means over the cases explain.
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

/// Gives Satterthwaite's degrees of freedom, of the sum of what lies between launches and the rest.
int degrees_of_freedom(const SumOfSquares& total, const SumOfSquares& between) {
  const int rest = total.degrees_of_freedom - between.degrees_of_freedom;
  if (rest <= 0) return std::min(total.degrees_of_freedom, between.degrees_of_freedom);
  const double inside = std::max(0.0, total.value - between.value);
  const double found =
      total.value * total.value /
      (between.value * between.value / between.degrees_of_freedom + inside * inside / rest);
  constexpr double kRounding = 1e-6;
  return static_cast<int>(found + kRounding);
}

LaunchDeviation deviation_of(const std::vector<Residuals>& pool) {
  const SumOfSquares total = total_of(pool);
  return {.deviation = std::sqrt(total.value / total.degrees_of_freedom),
          .degrees_of_freedom = degrees_of_freedom(total, between_launches(pool))};
}

LaunchDeviation deviation_alone(const Residuals& residuals) {
  return {.deviation = std::sqrt(residuals.variance()),
          .degrees_of_freedom = residuals.degrees_of_freedom(),
          .alone = true};
}

/// Gives the case of the pool that does not belong to it; the pool's end where all do.
std::vector<Residuals>::iterator find_stranger(std::vector<Residuals>& pool, std::size_t cases) {
  const auto widest = std::ranges::max_element(
      pool, [](const Residuals& a, const Residuals& b) { return a.variance() < b.variance(); });
  const SumOfSquares total = total_of(pool);
  const double others = total.value - widest->sum_of_squares;
  const int others_degrees = total.degrees_of_freedom - widest->degrees_of_freedom();
  if (others <= 0.0) return pool.end();
  const double ratio = widest->variance() / (others / others_degrees);
  const double chance =
      variance_ratio_upper_tail(ratio, widest->degrees_of_freedom(), others_degrees);
  return chance * static_cast<double>(cases) < kLeftOutByChance ? widest : pool.end();
}

using Deviations = std::vector<std::optional<LaunchDeviation>>;

void take_out_strangers(std::vector<Residuals>& pool, Deviations& deviations) {
  const std::size_t cases = pool.size();
  for (auto stranger = find_stranger(pool, cases); stranger != pool.end();
       stranger = find_stranger(pool, cases)) {
    deviations[stranger->place] = deviation_alone(*stranger);
    pool.erase(stranger);
  }
}

/// Takes a case after summarise() with its intervals.
void judge_convergence(CaseResult& result, double precision) {
  result.converged = false;
  const bool broke_off =
      result.stopped == StopReason::job_lost || result.stopped == StopReason::interrupted;
  if (result.ratios.empty() || broke_off) return;
  result.converged = std::ranges::all_of(
      result.ratios, [&](const RatioResult& each) { return is_precise(each.ratio, precision); });
  if (result.converged) {
    result.stopped = StopReason::converged;
  } else if (result.stopped != StopReason::out_of_time) {
    result.stopped = StopReason::launches_differ;
  }
}

/// Gives the place of the variant of that name; there is one.
std::size_t place_of(const CaseResult& result, const std::string& variant) {
  const auto found = std::ranges::find(result.variants, variant, &VariantResult::variant);
  return static_cast<std::size_t>(found - result.variants.begin());
}

/// Marks the ratios that mean nothing, so that no file shows them.
void refuse_ratios(const Record& record, CaseResult& result) {
  for (RatioResult& each : result.ratios) {
    const Judgement judgement = judge_variants(record, result, place_of(result, each.variant));
    each.is_refused = !has_speed_up(judgement.verdict);
  }
}

/// Gives null where there is none.
const LaunchMean* mean_of(const CaseResult& result,
                          const std::vector<std::optional<LaunchMean>>& means,
                          std::string_view variant) {
  const auto found = std::ranges::find(result.variants, variant, &VariantResult::variant);
  if (found == result.variants.end()) return nullptr;
  const auto& mean = means.at(static_cast<std::size_t>(found - result.variants.begin()));
  return mean ? &*mean : nullptr;
}

constexpr std::size_t kFewestRanks = 3;

/// Gives the index of the case and of its variant; absent where the record has no such.
std::optional<std::pair<int, int>> place_of(const Record& record, std::string_view wanted,
                                            std::string_view variant) {
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    if (case_name(record.cases[i].definition) != wanted) continue;
    const VariantResult* found = find_variant(record.cases[i], variant);
    if (found == nullptr) return std::nullopt;
    return std::pair{static_cast<int>(i),
                     static_cast<int>(found - record.cases[i].variants.data())};
  }
  return std::nullopt;
}

std::map<int, double> medians_by_rank(const Record& record, std::pair<int, int> place) {
  std::map<int, std::vector<double>> times;
  for (const Sample& sample : record.cases[static_cast<std::size_t>(place.first)].samples) {
    if (sample.variant != place.second) continue;
    for (std::size_t rank = 0; rank < sample.times.size(); ++rank) {
      const std::optional<Seconds>& time = sample.times[rank];
      if (time) times[static_cast<int>(rank)].push_back(time->value);
    }
  }
  std::map<int, double> medians;
  for (const auto& [rank, values] : times) medians[rank] = median(values);
  return medians;
}

}  // namespace

std::string why_no_launch_counts(const Record& record, const CaseResult& result,
                                 std::size_t variant) {
  const VariantResult& own = result.variants[variant];
  if (has_wrong_data(own)) return count_of_wrong(result.definition, *own.verification);
  const EndedRuns ended = ended_runs(record, result, variant);
  if (ended.lost() == 0) return {};
  return fmt::format("of the runs that ended, {} of {} failed or gave no number", ended.lost(),
                     ended.all);
}

std::vector<LaunchMedian> counted_launches(const Record& record, const CaseResult& result,
                                           std::size_t variant) {
  if (!why_no_launch_counts(record, result, variant).empty()) return {};
  return launch_medians(result, variant);
}

std::vector<CaseLaunches> launch_medians(std::span<const NamedRecord> records) {
  Entries entries;
  RecordPlace place;
  for (const NamedRecord& source : records) {
    for (const CaseResult& result : source.record.cases) {
      for (std::size_t j = 0; j < result.variants.size(); ++j) {
        CaseLaunches& entry = entries.entry(result.definition, result.variants[j].variant);
        add_result(entry, source.record, result, j, place);
      }
    }
    ++place.record;
    place.first_launch += count_launches(source.record);
  }
  return entries.take();
}

std::vector<CaseLaunches> by_run(std::span<const CaseLaunches> cases) {
  std::vector<CaseLaunches> all(cases.begin(), cases.end());
  for (CaseLaunches& each : all) {
    std::map<int, std::vector<LaunchMedian>> runs;
    for (std::size_t i = 0; i < each.launches.size(); ++i) {
      runs[each.runs.empty() ? 0 : each.runs[i]].push_back(each.launches[i]);
    }
    each.launches.clear();
    each.runs.clear();
    for (const auto& [run, launches] : runs) {
      each.launches.push_back({run, geometric_mean(launches)});
      each.runs.push_back(run);
    }
  }
  return all;
}

std::string deviation_pool(const Case& definition, const std::string& variant) {
  // A program's metrics are of one run each, and each is a quantity of its own.
  if (definition.metric) return fmt::format("{}/{}", variant, case_name(definition));
  constexpr std::int64_t kFactor = 16;
  std::int64_t low = 1;
  while (low <= definition.size.value / kFactor) low *= kFactor;
  return fmt::format("{}/{}/{}{}/{}-{}", variant, name_of(definition.operation),
                     name_of(definition.launch), definition.kernel ? "/kernel" : "",
                     exact_bytes(Bytes{low}), exact_bytes(Bytes{low * kFactor}));
}

std::vector<std::optional<LaunchDeviation>> pooled_deviations(std::span<const CaseLaunches> cases) {
  std::map<std::string, std::vector<std::size_t>> members;
  std::map<std::string, std::vector<Residuals>> pools;
  Deviations deviations(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string name = deviation_pool(cases[i].definition, cases[i].variant);
    members[name].push_back(i);
    if (cases[i].launches.size() < 2) continue;
    const Residuals residuals = residuals_of(cases[i], i);
    if (cases[i].paths.size() < 2) {
      pools[name].push_back(residuals);
    } else if (residuals.sum_of_squares > 0.0) {
      deviations[i] = deviation_alone(residuals);
    }
  }
  for (auto& [name, pool] : pools) {
    take_out_strangers(pool, deviations);
    if (!(total_of(pool).value > 0.0)) continue;
    const LaunchDeviation shared = deviation_of(pool);
    for (const std::size_t place : members[name]) {
      if (!deviations[place]) deviations[place] = shared;
    }
  }
  return deviations;
}

double assumed_deviation(Bytes size) {
  return size >= kSteadySize ? kAssumedDeviation : kAssumedSmallDeviation;
}

std::optional<LaunchDeviation> deviation_of_agreeing(const Case& definition, int launches) {
  if (!definition.metric || launches < 2) return std::nullopt;
  return LaunchDeviation{.deviation = 0.0, .degrees_of_freedom = launches - 1};
}

LaunchMean mean_of(const Case& definition, const std::vector<LaunchMedian>& launches,
                   const std::optional<LaunchDeviation>& deviation) {
  const int count = static_cast<int>(launches.size());
  return {geometric_mean(launches), count,
          deviation ? deviation : deviation_of_agreeing(definition, count),
          resolution_of(launches)};
}

LaunchMeans launch_means(const Record& record) {
  std::vector<CaseLaunches> all;
  for (const CaseResult& result : record.cases) {
    for (std::size_t i = 0; i < result.variants.size(); ++i) {
      all.push_back(
          {result.definition, result.variants[i].variant, counted_launches(record, result, i)});
    }
  }
  const Deviations deviations = pooled_deviations(all);
  LaunchMeans means;
  std::size_t next = 0;
  for (const CaseResult& result : record.cases) {
    means.emplace_back();
    for (std::size_t i = 0; i < result.variants.size(); ++i, ++next) {
      std::optional<LaunchMean>& mean = means.back().emplace_back();
      if (!all[next].launches.empty()) {
        mean = mean_of(result.definition, all[next].launches, deviations[next]);
      } else if (result.variants[i].time && why_no_launch_counts(record, result, i).empty()) {
        mean = {*result.variants[i].time};
      }
    }
  }
  return means;
}

double rounding_of(const CaseResult& result, const std::string& variant) {
  return rounding_between(resolution_of(launch_medians(result, 0)),
                          resolution_of(launch_medians(result, place_of(result, variant))));
}

Path path_of(const Machine& machine, const Case& definition, const VariantResult& variant) {
  const auto own = own_path(machine, definition, variant.execution);
  const Path path = own && variant.time ? *own : variant.path;
  return variant.evidence ? path_by_evidence(path, *variant.evidence) : path;
}

double most_nvlink_bytes(const Record& record, const std::optional<std::string>& at) {
  double most = 0.0;
  for (const Variant& variant : record.settings.variants) {
    const std::vector<RunEvidence> runs =
        at ? counted_runs(record, variant.name, *at) : counted_runs(record, variant.name);
    most = std::max(most, nvlink_bytes_in_a_run(runs).value_or(0.0));
  }
  return most;
}

void summarise(Record& record) {
  for (CaseResult& result : record.cases) {
    if (result.samples.empty()) continue;
    summarise(result);
    for (VariantResult& variant : result.variants) {
      if (const auto& metric = result.definition.metric) {
        variant.path = path_of_program(counted_runs(record, variant.variant, metric->at),
                                       record.machine, most_nvlink_bytes(record, metric->at));
      }
      variant.path = path_of(record.machine, result.definition, variant);
      note_limit(variant, result.definition, record.machine);
    }
  }
  const LaunchMeans means = launch_means(record);
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    CaseResult& result = record.cases[i];
    if (result.samples.empty()) continue;
    for (RatioResult& each : result.ratios) {
      const std::optional<LaunchMean>& first = means[i].front();
      const std::optional<LaunchMean>& other = means[i][place_of(result, each.variant)];
      if (first && other) each.ratio = ratio_between(*first, *other);
    }
    judge_convergence(result, precision_of(record.settings, result.definition));
  }
  for (CaseResult& result : record.cases) refuse_ratios(record, result);
}

MoreLaunches launches_worth_adding(const Record& record, int planned, int launches) {
  MoreLaunches more;
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    const CaseResult& result = record.cases[i];
    if (result.definition.training) continue;
    const double precision = precision_of(record.settings, result.definition);
    std::optional<double> needed = 0.0;
    for (const RatioResult& each : result.ratios) {
      const std::optional<double> width = relative_half_width(each.ratio);
      if (!width) needed.reset();
      if (!needed) break;
      // A width goes with the root of their number.
      const double excess = *width / precision;
      needed = std::max(*needed, std::ceil(each.ratio.replicates * excess * excess));
    }
    // None that is narrow enough, or that has no ratio, needs any.
    if (!needed || *needed <= launches || *needed > 2.0 * planned) continue;
    more.cases.push_back(static_cast<int>(i));
    more.launches = std::max(more.launches, static_cast<int>(*needed) - launches);
  }
  return more;
}

std::optional<Estimate> library_ratio(const Record& record, const LaunchMeans& means,
                                      std::size_t place, std::string_view variant) {
  const CaseResult& result = record.cases.at(place);
  if (!result.definition.kernel) return std::nullopt;
  Case definition = result.definition;
  definition.kernel = false;
  const auto twin = std::ranges::find(record.cases, definition, &CaseResult::definition);
  if (twin == record.cases.end()) return std::nullopt;
  const LaunchMean* own = mean_of(result, means.at(place), variant);
  const auto twin_place = static_cast<std::size_t>(twin - record.cases.begin());
  const LaunchMean* library = mean_of(*twin, means.at(twin_place), variant);
  if (own == nullptr || library == nullptr) return std::nullopt;
  return ratio_between(*own, *library);
}

std::optional<int> slowest_rank(const Record& record, std::string_view case_name,
                                std::string_view variant, double tolerance) {
  const auto place = place_of(record, case_name, variant);
  if (!place) return std::nullopt;
  const std::map<int, double> medians = medians_by_rank(record, *place);
  if (medians.size() < kFewestRanks) return std::nullopt;
  std::vector<double> values;
  for (const auto& [rank, value] : medians) values.push_back(value);
  const auto slowest = std::ranges::max_element(
      medians, [](const auto& a, const auto& b) { return a.second < b.second; });
  if (slowest->second <= median(values) * (1.0 + tolerance)) return std::nullopt;
  return slowest->first;
}

}  // namespace linkgain
