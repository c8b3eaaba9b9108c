#include "linkgain/core/training_summary.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "linkgain/core/statistics.hpp"

namespace linkgain {
namespace {

/// Medians of a variant's samples of a case, by launch.
std::map<int, double> medians(const Record& record, const CaseResult& result, std::size_t variant) {
  const auto place = static_cast<int>(&result - record.cases.data());
  std::map<int, std::vector<double>> times;
  for (const Sample& sample : record.samples) {
    if (sample.case_index != place || sample.variant != static_cast<int>(variant)) continue;
    times[sample.launch].push_back(sample.time().value);
  }
  std::map<int, double> medians;
  for (const auto& [launch, values] : times) medians[launch] = median(values);
  return medians;
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

std::optional<Seconds> exposed_communication(const Record& record, const CaseResult& result,
                                             std::size_t variant) {
  const CaseResult* const alone = without_communication(record, result.definition);
  if (alone == nullptr) return std::nullopt;
  std::map<int, double> computing;
  for (std::size_t i = 0; i < alone->variants.size() && computing.empty(); ++i) {
    computing = medians(record, *alone, i);
  }
  std::vector<double> differences;
  for (const auto& [launch, time] : medians(record, result, variant)) {
    const auto match = computing.find(launch);
    if (match != computing.end()) differences.push_back(time - match->second);
  }
  if (differences.empty()) return std::nullopt;
  return Seconds{median(differences)};
}

void note_exposed_communication(Record& record) {
  for (CaseResult& result : record.cases) {
    if (!uses_link(result.definition)) continue;
    for (std::size_t i = 0; i < result.variants.size(); ++i) {
      std::optional<TrainingResult>& training = result.variants[i].training;
      const std::optional<Seconds> exposed = exposed_communication(record, result, i);
      if (training && exposed) training->exposed_s = exposed->value;
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
