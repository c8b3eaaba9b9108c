#include "linkgain/analysis/training_summary.hpp"

#include <algorithm>
#include <vector>

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
                                                          const LaunchMeans& means,
                                                          std::size_t place, std::size_t variant) {
  const CaseResult* const alone = without_communication(record, record.cases.at(place).definition);
  const std::optional<LaunchMean>& training = means.at(place).at(variant);
  if (alone == nullptr || !training) return std::nullopt;
  const auto& computing = means.at(static_cast<std::size_t>(alone - record.cases.data()));
  const auto first = std::find_if(computing.begin(), computing.end(),
                                  [](const auto& mean) { return mean.has_value(); });
  if (first == computing.end()) return std::nullopt;
  const TimeDifference difference = difference_between(**first, *training);
  return ExposedCommunication{difference.estimate, difference.low, difference.high};
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
  const LaunchMeans means = launch_means(record);
  for (std::size_t place = 0; place < record.cases.size(); ++place) {
    CaseResult& result = record.cases[place];
    if (!may_stand_for_run(result.definition)) continue;
    for (std::size_t i = 0; i < result.variants.size(); ++i) {
      std::optional<TrainingResult>& training = result.variants[i].training;
      const std::optional<ExposedCommunication> exposed =
          exposed_communication(record, means, place, i);
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
