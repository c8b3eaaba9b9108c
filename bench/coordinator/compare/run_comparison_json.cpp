#include "linkgain/compare/run_comparison.hpp"
#include "linkgain/record/json_conversions.hpp"
#include "linkgain/statistics/ratio.hpp"

namespace linkgain {
namespace {

using json::nullable;
using json::Out;

/// With the steps that a training's time is multiplied by in tables: times here are of one step.
Out write_run(const RunFigures& run) {
  const std::optional<TrainingPlan>& plan = run.settings.training;
  return {
      {"name", run.name},
      {"source", name_of(run.source)},
      {"started", run.started},
      {"status", run.status},
      {"training", plan ? Out{{"steps", plan->steps}, {"tokens", plan->tokens}} : Out(nullptr)}};
}

Out write_change(const Change& change) {
  return {{"kind", name_of(change.kind)},
          {"what", change.what},
          {"before", change.before},
          {"after", change.after}};
}

Out write_side(const CaseFigures* figures) {
  if (figures == nullptr) return nullptr;
  Out launches = Out::array();
  for (const LaunchMedian& launch : figures->launches) launches.push_back(launch.time.value);
  return {{"time_s", nullable(json::seconds_of(figures->time))},
          {"algbw_gb_per_s", nullable(figures->algbw)},
          {"busbw_gb_per_s", nullable(figures->busbw)},
          {"path", name_of(figures->path)},
          {"launch_medians_s", launches}};
}

/// Times and speed-ups, from which less time follows.
Out write_speed_up(const CaseComparison& each) {
  if (!each.speed_up) return nullptr;
  return {{"speed_up", each.speed_up->estimate},
          {"low", each.speed_up->low},
          {"high", each.speed_up->high},
          {"less_time", less_time(each.speed_up->estimate)},
          {"launch_spread", each.spread->deviation},
          {"degrees_of_freedom", nullable(each.spread->degrees_of_freedom)}};
}

Out write_case(const CaseComparison& each) {
  return {{"case", each.name},
          {"variant", each.variant},
          {"before", write_side(each.before)},
          {"after", write_side(each.after)},
          {"difference", write_speed_up(each)},
          {"verdict", name_of(each.verdict)},
          {"reason", each.reason}};
}

Out write_comparison(const RunComparison& comparison) {
  const CaseComparison* headline = headline_case(comparison);
  return {{"before", write_run(*comparison.before)},
          {"after", write_run(*comparison.after)},
          {"threshold", comparison.threshold},
          {"changes", json::array_of(comparison.changes, write_change)},
          {"cautions", json::array_of(comparison.cautions, json::write_warning)},
          {"headline", headline != nullptr ? write_case(*headline) : Out(nullptr)},
          {"cases", json::array_of(comparison.cases, write_case)}};
}

}  // namespace

std::string to_json(const std::vector<RunComparison>& comparisons) {
  return json::document_text({{"schema", "linkgain.comparison/1"},
                              {"comparisons", json::array_of(comparisons, write_comparison)}});
}

}  // namespace linkgain
