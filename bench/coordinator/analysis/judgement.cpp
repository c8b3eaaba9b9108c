#include "linkgain/analysis/judgement.hpp"

#include <algorithm>
#include <cmath>

#include "linkgain/analysis/path_validity.hpp"
#include "linkgain/analysis/variant_environment.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

/// Quantiles of the intervals that are shown, and of the tests that say same.
struct Quantiles {
  ShiftQuantiles shown;
  ShiftQuantiles same{1.0 - kFalseDiscoveryRate};
};

bool is_within(const LaunchShift& shift, double lower, double upper) {
  return chance_below(shift, upper) <= kFalseDiscoveryRate &&
         chance_above(shift, lower) <= kFalseDiscoveryRate;
}

/// Judges a change by the interval alone.
Verdict verdict_of_change(double shift, const Interval& interval, const Question& question) {
  if (interval.low > 0.0 && shift > log_upper(question.tolerance)) return Verdict::slower;
  if (interval.high < 0.0 && shift < log_lower(question.tolerance)) return Verdict::faster;
  const Tolerance alike = question.alike.value_or(question.tolerance);
  const bool within = interval.low > log_lower(alike) && interval.high < log_upper(alike);
  return within ? Verdict::same : Verdict::inconclusive;
}

/// Judges whether the case is within the tolerance, before all are tested for being beyond it.
void judge_within(Judgement& judgement, const LaunchShift& shift, const Tolerance& tolerance,
                  ShiftQuantiles& quantiles) {
  const double lower = log_lower(tolerance);
  const double upper = log_upper(tolerance);
  judgement.chance_slower = chance_above(shift, upper);
  judgement.chance_faster = chance_below(shift, lower);
  if (fails(judgement.verdict)) return;
  if (is_within(shift, lower, upper)) {
    judgement.verdict = Verdict::same;
    return;
  }
  judgement.verdict = Verdict::inconclusive;
  judgement.settling = launches_to_settle(shift, quantiles, lower, upper);
  const double margin = std::min(std::abs(shift.log - lower), std::abs(shift.log - upper));
  if (shift.rounding <= margin) return;
  // More launches would not settle it.
  judgement.reasons.push_back(
      {.kind = Reason::Kind::few_digits, .amount = std::expm1(shift.rounding)});
}

/// Leaves a case open that lies on the wrong side of its tolerance and that the test over all cases
/// does not find: launches that would settle it alone need not settle it among `tested` cases.
void leave_open(Judgement& judgement, const Tolerance& tolerance, ShiftQuantiles& quantiles,
                std::size_t tested, Verdict verdict) {
  const double lower = log_lower(tolerance);
  const double upper = log_upper(tolerance);
  judgement.settling = launches_to_settle(*judgement.basis, quantiles, lower, upper);
  if (judgement.interval->low <= upper && judgement.interval->high >= lower) return;
  judgement.reasons.push_back(
      {.kind = Reason::Kind::one_of_many, .amount = static_cast<double>(tested), .alone = verdict});
}

/// Gives `verdict` to the cases whose chance is too small, given how many were looked at.
void judge_chances(std::vector<Judgement>& judgements, std::span<const Question> questions,
                   std::optional<double> Judgement::*chance, Verdict verdict) {
  std::vector<double> chances;
  std::vector<std::size_t> tested;
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    if (fails(judgements[i].verdict) || !(judgements[i].*chance)) continue;
    chances.push_back(*(judgements[i].*chance));
    tested.push_back(i);
  }
  const TestsOfABound tests = benjamini_hochberg_beyond(chances, kFalseDiscoveryRate);
  ShiftQuantiles quantiles(1.0 - tests.next);
  for (const std::size_t place : tests.in_question) {
    Judgement& judgement = judgements[tested[place]];
    const bool beyond = *(judgement.*chance) <= 0.5;
    if (tests.rejected[place]) {
      judgement.verdict = verdict;
      judgement.settling.reset();
    } else if (beyond) {
      leave_open(judgement, questions[tested[place]].tolerance, quantiles, tests.in_question.size(),
                 verdict);
    }
  }
}

/// Withdraws what is as fast as ever, perhaps, but by which path?
void judge_lost_path(Judgement& judgement, Path reference) {
  if (fails(judgement.verdict)) return;
  judgement.reasons.push_back(
      {.kind = Reason::Kind::path_lost, .words = std::string(name_of(reference))});
  if (judgement.verdict == Verdict::faster) return;
  judgement.verdict = Verdict::unknown_path;
  judgement.settling.reset();
}

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

bool is_change(Verdict verdict) { return verdict == Verdict::faster || verdict == Verdict::slower; }

bool fails(Verdict verdict) {
  return verdict == Verdict::missing || verdict == Verdict::wrong_data ||
         verdict == Verdict::other_path || verdict == Verdict::slower;
}

bool is_open(Verdict verdict) {
  return verdict == Verdict::inconclusive || verdict == Verdict::unknown_path ||
         verdict == Verdict::other_launch;
}

bool Judgement::has(Reason::Kind kind) const {
  return std::ranges::find(reasons, kind, &Reason::kind) != reasons.end();
}

std::vector<Judgement> judge(std::span<const Question> questions, Claim claim) {
  std::vector<Judgement> judgements;
  Quantiles quantiles;
  for (const Question& question : questions) {
    Judgement& judgement = judgements.emplace_back();
    judgement.verdict = question.fact.value_or(Verdict::inconclusive);
    judgement.reasons = question.reasons;
    judgement.basis = question.shift;
    judgement.shift = question.log;
    judgement.interval = question.interval;
    if (question.shift) {
      judgement.shift = question.shift->log;
      judgement.interval = interval_of(*question.shift, quantiles.shown);
    }
    if (claim == Claim::beyond_tolerance && question.shift) {
      judge_within(judgement, *question.shift, question.tolerance, quantiles.same);
    } else if (claim == Claim::change && judgement.interval && !question.fact) {
      judgement.verdict = verdict_of_change(*judgement.shift, *judgement.interval, question);
    }
  }
  if (claim == Claim::beyond_tolerance) {
    judge_chances(judgements, questions, &Judgement::chance_slower, Verdict::slower);
    judge_chances(judgements, questions, &Judgement::chance_faster, Verdict::faster);
  }
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    if (questions[i].lost_path) judge_lost_path(judgements[i], *questions[i].lost_path);
  }
  return judgements;
}

Judgement judge_variants(const Record& record, const CaseResult& result, std::size_t variant) {
  const Question question = question_of(record, result, variant);
  return judge(std::span(&question, 1), Claim::change).front();
}

Verdict judge_beside_library(const Estimate& ratio) {
  const Question question = question_of(ratio);
  return judge(std::span(&question, 1), Claim::change).front().verdict;
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
    if (result.definition.metric && run.at != result.definition.metric->at) continue;
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
