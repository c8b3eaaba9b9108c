#include "linkgain/analysis/training_summary.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

Losses judged_losses(const CaseResult& result, std::size_t variant) {
  std::vector<const Sample*> samples;
  for (const Sample& sample : result.samples) {
    if (sample.variant != static_cast<int>(variant)) continue;
    if (sample.round < kJudgedSteps / kStepsPerBlock) samples.push_back(&sample);
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
  const auto found = std::ranges::find(record.cases, alone, &CaseResult::definition);
  return found == record.cases.end() ? nullptr : &*found;
}

std::optional<Estimate> exposed_communication(const Record& record, const CaseResult& result,
                                              std::size_t variant) {
  const CaseResult* const alone = without_communication(record, result.definition);
  if (alone == nullptr) return std::nullopt;
  std::map<int, double> computing;
  for (std::size_t i = 0; i < alone->variants.size() && computing.empty(); ++i) {
    for (const LaunchMedian& each : launch_medians(*alone, i)) {
      computing[each.launch] = each.time.value;
    }
  }
  std::vector<double> differences;
  for (const LaunchMedian& each : launch_medians(result, variant)) {
    const auto match = computing.find(each.launch);
    if (match != computing.end()) differences.push_back(each.time.value - match->second);
  }
  if (differences.empty()) return std::nullopt;
  return student_mean(differences);
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
      if (const auto exposed = exposed_communication(record, result, i); training && exposed) {
        training->exposed = exposed;
      }
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
