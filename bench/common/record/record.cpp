#include "linkgain/record/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "linkgain/base/text.hpp"
#include "linkgain/gpt2/training_strategy.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

/// Times of one variant by launch and round.
using TimesByRound = std::map<std::pair<int, int>, double>;

/// Every variant's times of one case.
std::vector<TimesByRound> rounds_of(const CaseResult& result) {
  std::vector<TimesByRound> rounds(result.variants.size());
  for (const Sample& sample : result.samples) {
    rounds.at(static_cast<std::size_t>(sample.variant))[{sample.launch, sample.round}] =
        sample.time().value;
  }
  return rounds;
}

double skew_of(const Sample& sample) {
  double fastest = 0.0;
  double slowest = 0.0;
  for (const auto& seconds : sample.seconds) {
    if (!seconds) continue;
    fastest = fastest == 0.0 ? *seconds : std::min(fastest, *seconds);
    slowest = std::max(slowest, *seconds);
  }
  return slowest > 0.0 ? (slowest - fastest) / slowest : 0.0;
}

/// Times of two variants in the rounds that sampled both, by launch.
using PairedTimes = std::map<int, std::pair<std::vector<double>, std::vector<double>>>;

PairedTimes paired_times(const TimesByRound& first, const TimesByRound& other) {
  PairedTimes launches;
  for (const auto& [key, time] : first) {
    const auto match = other.find(key);
    if (match == other.end()) continue;
    auto& [first_times, other_times] = launches[key.first];
    first_times.push_back(time);
    other_times.push_back(match->second);
  }
  return launches;
}

/// The ratio of each launch; combined if there are several.
std::optional<Ratio> ratio_between(const TimesByRound& first, const TimesByRound& other) {
  const PairedTimes launches = paired_times(first, other);
  if (launches.empty()) return std::nullopt;
  std::vector<Ratio> ratios;
  for (const auto& [launch, times] : launches) {
    ratios.push_back(estimate_ratio(times.first, times.second));
  }
  return ratios.size() == 1 ? ratios.front() : combine_launches(ratios);
}

void summarise_variant(VariantResult& result, const Case& definition,
                       const std::vector<const Sample*>& samples) {
  std::vector<double> times;
  std::vector<double> skews;
  result.health = {};
  for (const Sample* sample : samples) {
    add_sample(result.health, sample->health);
    times.push_back(sample->time().value);
    skews.push_back(skew_of(*sample));
  }
  if (times.empty()) return;
  result.time = Seconds{median(times)};
  result.skew = median(skews);
  if (!moves_its_size(definition.operation)) return;
  result.algbw = algorithm_bandwidth(definition, *result.time);
  result.busbw = bus_bandwidth(definition, *result.time);
}

/// `first` are the first variant's samples, which may be `samples`.
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

bool is_precise(const Ratio& ratio, double precision) {
  const std::optional<double> width = ratio.relative_half_width();
  return width && *width <= precision && !ratio.correlated;
}

/// The place among the case's variants of the one that a ratio is of.
std::size_t place_of(const RatioResult& ratio, const CaseResult& result) {
  const auto& all = result.variants;
  const auto own = std::find_if(all.begin(), all.end(), [&](const VariantResult& variant) {
    return variant.variant == ratio.variant;
  });
  return static_cast<std::size_t>(own - all.begin());
}

double relative_difference(double first, double other) {
  if (first == other) return 0.0;
  const double difference = std::abs((other - first) / first);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

/// Whether a lost job or an interrupt ended sampling.
bool broke_off(const CaseResult& result) {
  return result.stopped == StopReason::job_lost || result.stopped == StopReason::interrupted;
}

}  // namespace

Seconds Sample::time() const {
  double slowest = 0.0;
  for (const auto& rank : seconds) slowest = std::max(slowest, rank.value_or(0.0));
  return {slowest};
}

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::converged:
      return "converged";
    case StopReason::out_of_rounds:
      return "out of rounds";
    case StopReason::out_of_time:
      return "out of time";
    case StopReason::launches_differ:
      return "launches differ";
    case StopReason::nothing_to_compare:
      return "nothing to compare";
    case StopReason::skipped:
      return "skipped";
    case StopReason::job_lost:
      return "job lost";
    case StopReason::interrupted:
      return "interrupted";
  }
  throw std::logic_error("unhandled stop reason");
}

StopReason parse_stop_reason(std::string_view name) {
  using enum StopReason;
  return parse_name("stop reason", name,
                    std::array{converged, out_of_rounds, out_of_time, launches_differ,
                               nothing_to_compare, skipped, job_lost, interrupted});
}

std::string_view name_of(RunStatus status) {
  switch (status) {
    case RunStatus::complete:
      return "complete";
    case RunStatus::interrupted:
      return "interrupted";
    case RunStatus::job_lost:
      return "job lost";
    case RunStatus::incomplete:
      return "incomplete";
  }
  throw std::logic_error("unhandled status");
}

RunStatus parse_run_status(std::string_view name) {
  using enum RunStatus;
  return parse_name("status", name, std::array{complete, interrupted, job_lost, incomplete});
}

const VariantResult* find_variant(const CaseResult& result, std::string_view name) {
  const auto found = std::find_if(result.variants.begin(), result.variants.end(),
                                  [&](const VariantResult& each) { return each.variant == name; });
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

LaunchTimes launch_times(const CaseResult& result, std::size_t variant) {
  LaunchTimes times;
  for (const Sample& sample : result.samples) {
    const double time = sample.time().value;
    if (sample.variant != static_cast<int>(variant) || !(time > 0.0)) continue;
    times[sample.launch].push_back(time);
  }
  return times;
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
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    summarise_variant(result.variants[i], result.definition, by_variant[i]);
    if (!is_training(result.definition.operation) || by_variant[i].empty()) continue;
    TrainingResult& training =
        result.variants[i].training.emplace(training_result(by_variant[i], by_variant.front()));
    if (result.definition.training) training.buckets = bucket_count(*result.definition.training);
  }
  const std::vector<TimesByRound> rounds = rounds_of(result);
  result.ratios.clear();
  for (std::size_t i = 1; i < result.variants.size(); ++i) {
    if (const auto ratio = ratio_between(rounds[0], rounds[i])) {
      result.ratios.push_back({result.variants[i].variant, *ratio});
    }
  }
}

void settle(CaseResult& result, double precision) {
  result.converged = false;
  if (result.ratios.empty() || broke_off(result)) return;
  const std::vector<TimesByRound> rounds = rounds_of(result);
  bool differ = result.stopped == StopReason::converged;
  result.converged = true;
  for (const RatioResult& each : result.ratios) {
    if (is_precise(each.ratio, precision)) continue;
    result.converged = false;
    differ = differ || paired_times(rounds[0], rounds[place_of(each, result)]).size() > 1;
  }
  if (result.converged) {
    result.stopped = StopReason::converged;
  } else if (differ) {
    result.stopped = StopReason::launches_differ;
  }
}

std::string_view option_of(Remedy remedy) {
  switch (remedy) {
    case Remedy::time:
      return "--budget";
    case Remedy::steps:
      return "--steps";
    case Remedy::launches:
      return "--launches";
  }
  throw std::invalid_argument("no such remedy");
}

std::optional<Remedy> remedy_for(const CaseResult& result) {
  if (result.ratios.empty() || result.converged || broke_off(result)) return std::nullopt;
  if (result.stopped == StopReason::launches_differ) return Remedy::launches;
  const bool ran_all_steps =
      result.definition.training && result.stopped != StopReason::out_of_time;
  return ran_all_steps ? Remedy::steps : Remedy::time;
}

}  // namespace linkgain
