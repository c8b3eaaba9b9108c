#include "linkgain/analysis/variant_judgement.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "linkgain/analysis/path_validity.hpp"
#include "linkgain/analysis/variant_environment.hpp"

namespace linkgain {
namespace {

/// Asks whether a variant takes another time than one that takes `ratio` times as long. A change of
/// 10 % would matter to anybody.
Question question_of(const Estimate& ratio) {
  constexpr double kMatters = 0.1;
  Question question{.log = -std::log(ratio.value),
                    .tolerance = {0.0, 0.0},
                    .alike = Tolerance{1.0 / (1.0 + kMatters) - 1.0, 1.0 / (1.0 - kMatters) - 1.0}};
  if (ratio.interval) {
    question.interval = Interval{-std::log(ratio.interval->high), -std::log(ratio.interval->low)};
  }
  return question;
}

/// Judges the same of a program's metric. Who is slow, and so runs out of time or memory, may be
/// among the runs that were lost. Runs that all agree leave no doubt but that of the digits
/// printed.
Question question_of_program(const Record& record, const CaseResult& result, std::size_t variant,
                             const Estimate& ratio) {
  for (const std::size_t each : {std::size_t{0}, variant}) {
    if (ended_runs(record, result, each).lost() == 0) continue;
    return {.fact = Verdict::not_comparable, .reasons = {{.kind = Reason::Kind::lost_runs}}};
  }
  const bool agree = all_agree(result, variant);
  if (ratio.replicates < (agree ? kFewestAlone : 2)) {
    return {.fact = Verdict::not_comparable, .reasons = {{.kind = Reason::Kind::few_runs}}};
  }
  Question question = question_of(ratio);
  if (is_one(ratio.value)) question.log = 0.0;
  if (agree && !question.interval) question.interval = Interval{*question.log, *question.log};
  return question;
}

Question question_of(const Record& record, const CaseResult& result, std::size_t variant) {
  const VariantResult& first = result.variants.front();
  const VariantResult& other = result.variants[variant];
  if (has_wrong_data(first) || has_wrong_data(other)) return {.fact = Verdict::wrong_data};
  const auto ratio = std::ranges::find(result.ratios, other.variant, &RatioResult::variant);
  if (ratio == result.ratios.end() || !first.time || !other.time) {
    return {.fact = Verdict::missing};
  }
  if (result.definition.metric) {
    return question_of_program(record, result, variant, ratio->ratio);
  }
  const bool chooses =
      record.settings.backend == BackendKind::nccl && choose_path(record, first, other);
  if (chooses && same_path(first, other)) return {.fact = Verdict::same_path};
  Question question = question_of(ratio->ratio);
  if (!question.interval && ratio->ratio.replicates < 2) {
    question.reasons = {{.kind = Reason::Kind::one_launch, .words = "too few launches to compare"}};
  }
  return question;
}

}  // namespace

Judgement judge_variants(const Record& record, const CaseResult& result, std::size_t variant) {
  const Question question = question_of(record, result, variant);
  return judge(std::span(&question, 1), Claim::change).front();
}

bool has_speed_up(Verdict verdict) {
  return verdict == Verdict::faster || verdict == Verdict::slower || verdict == Verdict::same ||
         verdict == Verdict::inconclusive;
}

bool is_one(double ratio) {
  constexpr double kRounding = 1e-12;
  return std::abs(ratio - 1.0) < kRounding;
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
