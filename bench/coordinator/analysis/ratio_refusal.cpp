#include "linkgain/analysis/ratio_refusal.hpp"

#include <algorithm>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/path_validity.hpp"
#include "linkgain/analysis/variant_environment.hpp"

namespace linkgain {
namespace {

std::optional<RatioRefusal> refusal_of_program(const Record& record, const CaseResult& result,
                                               std::size_t variant, const Estimate& ratio) {
  for (const std::size_t each : {std::size_t{0}, variant}) {
    if (ended_runs(record, result, each).lost() > 0) return RatioRefusal::lost_runs;
  }
  const int fewest = all_agree(result, variant) ? kFewestAlone : 2;
  if (ratio.replicates < fewest) return RatioRefusal::too_few_runs;
  return std::nullopt;
}

}  // namespace

std::optional<RatioRefusal> refusal_of_ratio(const Record& record, const CaseResult& result,
                                             std::size_t variant) {
  const VariantResult& first = result.variants.front();
  const VariantResult& other = result.variants[variant];
  if (has_wrong_data(first) || has_wrong_data(other)) return RatioRefusal::wrong_data;
  const auto ratio = std::ranges::find(result.ratios, other.variant, &RatioResult::variant);
  if (ratio == result.ratios.end() || !first.time || !other.time) {
    return RatioRefusal::not_measured;
  }
  if (result.definition.metric) return refusal_of_program(record, result, variant, ratio->ratio);
  const bool chooses =
      record.settings.backend == BackendKind::nccl && choose_path(record, first, other);
  return chooses && same_path(first, other) ? std::optional(RatioRefusal::same_path) : std::nullopt;
}

EndedRuns ended_runs(const Record& record, const CaseResult& result, std::size_t variant) {
  EndedRuns ended;
  for (const ProgramRun& run : record.runs) {
    if (run.variant != result.variants[variant].variant || run.warm_up) continue;
    ++ended.all;
    ended.failed += run.failure.empty() ? 0 : 1;
  }
  const std::size_t counted = launch_medians(result, variant).size();
  ended.lacking = ended.all - std::min(ended.all, counted + ended.failed);
  return ended;
}

bool all_agree(const CaseResult& result, std::size_t variant) {
  return std::ranges::all_of(std::vector{std::size_t{0}, variant}, [&](std::size_t each) {
    const std::vector<LaunchMedian> launches = launch_medians(result, each);
    return std::ranges::all_of(
        launches, [&](const LaunchMedian& one) { return one.time == launches.front().time; });
  });
}

}  // namespace linkgain
