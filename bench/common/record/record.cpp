#include "linkgain/record/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "linkgain/base/text.hpp"
#include "linkgain/gpt2/training_strategy.hpp"

namespace linkgain {
namespace {

double skew_of(const Sample& sample) {
  const double slowest = sample.time().value;
  double fastest = slowest;
  for (const std::optional<Seconds>& time : sample.times) {
    if (time) fastest = std::min(fastest, time->value);
  }
  return slowest > 0.0 ? (slowest - fastest) / slowest : 0.0;
}

LaunchTimes times_of(const std::vector<const Sample*>& samples) {
  LaunchTimes times;
  for (const Sample* sample : samples) times[sample->launch].push_back(sample->time().value);
  return times;
}

/// Returns what was asked for says what somebody wants to see, not what the machine does, so that
/// the defaults decide.
std::optional<LevelShift> level_shift_of(const Case& definition,
                                         const std::vector<const Sample*>& samples) {
  if (is_program(definition.operation)) return std::nullopt;  // it may change as it runs
  const LaunchTimes times = times_of(samples);
  const std::optional<LevelChange> found =
      level_change_of(times, 2.0 * default_precision(definition));
  if (!found) return std::nullopt;
  const int launch = std::next(times.begin(), static_cast<std::ptrdiff_t>(found->launch))->first;
  std::vector<int> rounds;
  for (const Sample* sample : samples) {
    if (sample->launch == launch) rounds.push_back(sample->round);
  }
  return LevelShift{launch, rounds[found->before], std::exp(found->log)};
}

void summarise_variant(VariantResult& result, const Case& definition,
                       const std::vector<const Sample*>& samples,
                       std::span<const LaunchMedian> launches) {
  std::vector<double> times;
  std::vector<double> skews;
  result.health = {};
  result.disturbed_samples = 0;
  result.level_shift.reset();
  result.time.reset();
  result.algbw.reset();
  result.busbw.reset();
  result.skew.reset();
  for (const Sample* sample : samples) {
    add_sample(result.health, sample->health);
    result.disturbed_samples += sample->disturbed ? 1 : 0;
    times.push_back(sample->time().value);
    skews.push_back(skew_of(*sample));
  }
  if (times.empty()) return;
  result.time = launches.empty() ? Seconds{median(times)} : geometric_mean(launches);
  result.skew = median(skews);
  result.level_shift = level_shift_of(definition, samples);
  if (!moves_its_size(definition.operation)) return;
  result.algbw = algorithm_bandwidth(definition, *result.time);
  result.busbw = bus_bandwidth(definition, *result.time);
}

/// Makes a training's result; `first` are the first variant's samples, which may be `samples`.
TrainingResult training_result(const std::vector<const Sample*>& samples,
                               const std::vector<const Sample*>& first) {
  TrainingResult result;
  for (const Sample* sample : samples) {
    result.steps += sample->operations;
    result.sum.value += sample->time().value * static_cast<double>(sample->operations);
  }
  const Losses losses = losses_of(samples);
  for (const auto& [key, loss] : losses) {
    if (key.first != losses.begin()->first.first) break;
    if (!result.first_loss) result.first_loss = loss;
    result.last_loss = loss;
  }
  if (&samples != &first) result.loss_difference = largest_difference(losses_of(first), losses);
  return result;
}

double relative_difference(double first, double other) {
  if (first == other) return 0.0;
  const double difference = std::abs((other - first) / first);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

constexpr const char* kJobWasLost = "the job was lost";
constexpr const char* kBudgetUsedUp = "the time budget was used up";

}  // namespace

Seconds Sample::time() const {
  Seconds slowest;
  for (const std::optional<Seconds>& time : times)
    slowest = std::max(slowest, time.value_or(Seconds{}));
  return slowest;
}

void add_once(std::vector<Warning>& warnings, const Warning& warning) {
  if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
}

const VariantResult* find_variant(const CaseResult& result, std::string_view name) {
  const auto found = std::ranges::find(result.variants, name, &VariantResult::variant);
  return found == result.variants.end() ? nullptr : &*found;
}

Losses losses_of(const std::vector<const Sample*>& samples) {
  Losses losses;
  for (const Sample* sample : samples) {
    if (sample->loss) losses[{sample->launch, sample->round}] = *sample->loss;
  }
  return losses;
}

std::optional<double> largest_difference(const Losses& first, const Losses& other) {
  std::optional<double> largest;
  for (const auto& [key, loss] : other) {
    const auto match = first.find(key);
    if (match == first.end()) continue;
    largest = std::max(largest.value_or(0.0), relative_difference(match->second, loss));
  }
  return largest;
}

std::vector<LaunchMedian> launch_medians(const CaseResult& result, std::size_t variant) {
  LaunchTimes times;
  std::map<int, std::vector<double>> resolutions;
  for (const Sample& sample : result.samples) {
    const double time = sample.time().value;
    if (sample.variant != static_cast<int>(variant) || !(time > 0.0)) continue;
    times[sample.launch].push_back(time);
    if (sample.resolution > 0.0) resolutions[sample.launch].push_back(sample.resolution);
  }
  const OperationKind operation = result.definition.operation;
  const std::size_t fewest = is_training(operation) || is_program(operation) ? 1 : kFewestSamples;
  std::vector<LaunchMedian> medians;
  for (const auto& [launch, time] : medians_of(times, fewest)) {
    const auto printed = resolutions.find(launch);
    medians.push_back(
        {launch, Seconds{time}, printed == resolutions.end() ? 0.0 : median(printed->second)});
  }
  return medians;
}

double resolution_of(std::span<const LaunchMedian> launches) {
  std::vector<double> resolutions;
  for (const LaunchMedian& launch : launches) resolutions.push_back(launch.resolution);
  return resolutions.empty() ? 0.0 : median(resolutions);
}

double mean_log(std::span<const LaunchMedian> launches) {
  double sum = 0.0;
  for (const LaunchMedian& launch : launches) sum += std::log(launch.time.value);
  return sum / static_cast<double>(launches.size());
}

Seconds geometric_mean(std::span<const LaunchMedian> launches) {
  return launches.size() == 1 ? launches.front().time : Seconds{std::exp(mean_log(launches))};
}

int count_samples(const Record& record) {
  std::size_t count = 0;
  for (const CaseResult& result : record.cases) count += result.samples.size();
  return static_cast<int>(count);
}

int count_launches(const Record& record) {
  int launches = 0;
  for (const CaseResult& result : record.cases) {
    for (const Sample& sample : result.samples) launches = std::max(launches, sample.launch + 1);
  }
  return launches;
}

std::vector<RatioResult> shown_ratios(const CaseResult& result) {
  std::vector<RatioResult> shown = result.ratios;
  std::erase_if(shown, [](const RatioResult& each) { return each.is_refused; });
  return shown;
}

std::string why_skipped(const VariantResult& variant) {
  if (!variant.skipped) return {};
  switch (variant.skipped->reason) {
    case SkipReason::refused:
      return variant.skipped->refusal;
    case SkipReason::job_lost:
      return kJobWasLost;
    case SkipReason::out_of_time:
      return kBudgetUsedUp;
  }
  throw std::logic_error("unhandled reason");
}

Skip parse_skip(const std::string& why) {
  if (why == kJobWasLost) return {SkipReason::job_lost};
  if (why == kBudgetUsedUp) return {SkipReason::out_of_time};
  return {SkipReason::refused, why};
}

bool has_wrong_data(const VariantResult& variant) {
  return variant.verification.has_value() && variant.verification->wrong > 0;
}

std::string count_of_wrong(const Case& definition, const Verification& verification) {
  if (!is_training(definition.operation)) {
    return fmt::format("{} of {} elements are wrong", verification.wrong, verification.checked);
  }
  return fmt::format("{} of {} ranks {} wrong data", verification.wrong, definition.ranks,
                     verification.wrong == 1 ? "has" : "have");
}

std::string describe_wrong(const Case& definition, const Verification& verification) {
  const std::string count = count_of_wrong(definition, verification);
  if (verification.first_wrong.empty()) return count;
  return fmt::format("{}, first: {}", count, verification.first_wrong);
}

void summarise(CaseResult& result) {
  std::vector<std::vector<const Sample*>> by_variant(result.variants.size());
  for (const Sample& sample : result.samples) {
    by_variant.at(static_cast<std::size_t>(sample.variant)).push_back(&sample);
  }
  result.ratios.clear();
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    VariantResult& variant = result.variants[i];
    summarise_variant(variant, result.definition, by_variant[i], launch_medians(result, i));
    if (by_variant[i].empty()) {
      variant.training.reset();
      continue;
    }
    if (is_training(result.definition.operation)) {
      TrainingResult& training =
          variant.training.emplace(training_result(by_variant[i], by_variant.front()));
      if (result.definition.training) training.buckets = bucket_count(*result.definition.training);
    }
    const std::optional<Seconds>& first = result.variants.front().time;
    if (i == 0 || !first || by_variant.front().empty()) continue;
    Estimate ratio;
    ratio.value = variant.time->value / first->value;
    const bool is_wrong = has_wrong_data(result.variants.front()) || has_wrong_data(variant);
    result.ratios.push_back({variant.variant, ratio, is_wrong});
  }
}

double default_precision(const Case& definition) {
  constexpr Bytes kLarge{std::int64_t{16} << 20};
  constexpr Bytes kMiddle{std::int64_t{1} << 20};
  if (definition.training || definition.size >= kLarge) return 0.01;
  return definition.metric || definition.size >= kMiddle ? 0.02 : 0.05;
}

double precision_of(const Settings& settings, const Case& definition) {
  return settings.precision.value_or(default_precision(definition));
}

std::string_view option_of(Remedy remedy) {
  switch (remedy) {
    case Remedy::time:
      return "--budget";
    case Remedy::launches:
      return "--launches";
  }
  throw std::invalid_argument("no such remedy");
}

std::vector<std::pair<int, double>> medians_of(const LaunchTimes& times, std::size_t fewest) {
  std::vector<std::pair<int, double>> medians;
  for (const auto& [launch, values] : times) {
    if (values.size() >= fewest) medians.emplace_back(launch, median(values));
  }
  return medians;
}

std::optional<LevelChange> level_change_of(const LaunchTimes& times, double share) {
  bool may_have_changed = false;
  for (const auto& [launch, values] : times) {
    const auto [lowest, highest] = std::ranges::minmax(values);
    if (!(lowest > 0.0)) return std::nullopt;  // of a record that was tampered with
    may_have_changed = may_have_changed || highest >= lowest * (1.0 + share);
  }
  if (!may_have_changed) return std::nullopt;
  std::vector<std::vector<double>> logs;
  for (const auto& [launch, values] : times) {
    std::vector<double>& own = logs.emplace_back();
    for (const double time : values) own.push_back(std::log(time));
  }
  return find_level_change(logs, std::log1p(share));
}

}  // namespace linkgain
