#include "linkgain/analysis/training_summary.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

Losses judged_losses(const CaseResult& result, std::size_t variant) {
  std::vector<const Sample*> samples;
  for (const Sample& sample : result.samples) {
    if (sample.variant != static_cast<int>(variant)) continue;
    if ((sample.round + 1) * kStepsPerBlock <= kJudgedSteps) samples.push_back(&sample);
  }
  return losses_of(samples);
}

/// Of one launch: how much longer `training` takes than `computing`.
SignedRankEstimate difference_between(const std::vector<double>& computing,
                                      const std::vector<double>& training) {
  SignedRankEstimate difference = welch_difference(grouped_while_correlated(computing).values,
                                                   grouped_while_correlated(training).values);
  difference.estimate = median(training) - median(computing);
  return difference;
}

SignedRankEstimate over_launches(const std::vector<SignedRankEstimate>& launches) {
  if (launches.size() == 1) return launches.front();
  std::vector<double> differences;
  for (const SignedRankEstimate& launch : launches) differences.push_back(launch.estimate);
  SignedRankEstimate all = student_mean(differences);
  all.estimate = median(differences);
  return all;
}

ExposedCommunication exposed_of(const SignedRankEstimate& difference) {
  ExposedCommunication exposed{.time = {difference.estimate}};
  if (difference.low) exposed.low = Seconds{std::min(*difference.low, difference.estimate)};
  if (difference.high) exposed.high = Seconds{std::max(*difference.high, difference.estimate)};
  return exposed;
}

}  // namespace

const CaseResult* without_communication(const Record& record, const Case& training) {
  if (!training.training) return nullptr;
  Case alone = training;
  alone.training->strategy = TrainingStrategy::none;
  alone.training->buckets = BucketRule::current;
  alone.training->bucket_mib.reset();
  const auto found = std::find_if(record.cases.begin(), record.cases.end(),
                                  [&](const CaseResult& each) { return each.definition == alone; });
  return found == record.cases.end() ? nullptr : &*found;
}

bool ExposedCommunication::may_be_zero() const {
  return low && high && low->value <= 0.0 && high->value >= 0.0;
}

std::optional<ExposedCommunication> exposed_communication(const Record& record,
                                                          const CaseResult& result,
                                                          std::size_t variant) {
  const CaseResult* const alone = without_communication(record, result.definition);
  if (alone == nullptr) return std::nullopt;
  LaunchTimes computing;
  for (std::size_t i = 0; i < alone->variants.size() && computing.empty(); ++i) {
    computing = launch_times(*alone, i);
  }
  std::vector<SignedRankEstimate> launches;
  for (const auto& [launch, blocks] : launch_times(result, variant)) {
    const auto match = computing.find(launch);
    if (match != computing.end()) launches.push_back(difference_between(match->second, blocks));
  }
  if (launches.empty()) return std::nullopt;
  return exposed_of(over_launches(launches));
}

std::optional<double> judged_loss_difference(const CaseResult& result, std::size_t variant) {
  if (variant == 0) return std::nullopt;
  return largest_difference(judged_losses(result, 0), judged_losses(result, variant));
}

bool have_losses_parted(const CaseResult& result, std::size_t variant) {
  const std::optional<double> difference = judged_loss_difference(result, variant);
  return difference &&
         *difference > loss_bound(*result.definition.training, result.definition.ranks);
}

void note_exposed_communication(Record& record) {
  for (CaseResult& result : record.cases) {
    if (!may_stand_for_run(result.definition)) continue;
    for (std::size_t i = 0; i < result.variants.size(); ++i) {
      std::optional<TrainingResult>& training = result.variants[i].training;
      const std::optional<ExposedCommunication> exposed = exposed_communication(record, result, i);
      if (!training || !exposed) continue;
      training->exposed_s = exposed->time.value;
      if (exposed->low) training->exposed_low_s = exposed->low->value;
      if (exposed->high) training->exposed_high_s = exposed->high->value;
    }
  }
}

bool may_stand_for_run(const Case& definition) {
  return definition.training.has_value() && uses_link(definition);
}

std::int64_t planned_steps(const Settings& settings) {
  return settings.training.value_or(TrainingPlan{}).steps;
}

Seconds time_of_all_steps(const Settings& settings, Seconds step) {
  return Seconds{step.value * static_cast<double>(planned_steps(settings))};
}

}  // namespace linkgain
