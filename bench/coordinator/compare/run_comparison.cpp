#include "linkgain/compare/run_comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/training_summary.hpp"

namespace linkgain {
namespace {

bool is_selected(const CaseFigures& figures, const CompareOptions& options) {
  if (options.operations.empty()) return true;
  return std::ranges::find(options.operations, figures.definition.operation) !=
         options.operations.end();
}

std::string first_variant(const RunFigures& run) {
  return run.cases.empty() ? "" : run.cases.front().variant;
}

bool has_variant(const RunFigures& run, const std::string& name) {
  return std::ranges::any_of(run.cases,
                             [&](const CaseFigures& figures) { return figures.variant == name; });
}

/// Which variants stand for each other.
class VariantMatch {
 public:
  VariantMatch(const RunFigures& before, const RunFigures& after)
      : first_before_(first_variant(before)), first_after_(first_variant(after)) {
    by_name_ = std::ranges::any_of(
        after.cases, [&](const CaseFigures& each) { return has_variant(before, each.variant); });
  }

  /// Tells whether a variant takes part at all: by name all do, else the first ones.
  bool counts(const std::string& variant, bool after) const {
    return by_name_ || variant == (after ? first_after_ : first_before_);
  }
  bool matches(const CaseFigures& before, const CaseFigures& after) const {
    if (before.name != after.name) return false;
    if (by_name_) return before.variant == after.variant;
    return before.variant == first_before_ && after.variant == first_after_;
  }
  /// Returns what a row is called.
  std::string label(const std::string& variant) const {
    if (by_name_) return variant;
    if (first_before_.empty() || first_after_.empty()) return first_before_ + first_after_;
    return fmt::format("{} → {}", first_before_, first_after_);
  }

 private:
  std::string first_before_;
  std::string first_after_;
  bool by_name_ = false;
};

/// Returns what the launches of each case of a run say, in its order; absent without a time.
std::vector<std::optional<LaunchMean>> means_of(const RunFigures& run) {
  std::vector<CaseLaunches> all;
  for (const CaseFigures& figures : run.cases) {
    all.push_back({figures.definition, figures.variant, figures.launches});
  }
  const auto deviations = pooled_deviations(all);
  std::vector<std::optional<LaunchMean>> means;
  for (std::size_t i = 0; i < all.size(); ++i) {
    means.emplace_back();
    if (all[i].launches.empty()) continue;
    means.back() = mean_of(all[i].definition, all[i].launches, deviations[i]);
  }
  return means;
}

/// Says how many times longer it took before; nothing where that is not known.
std::optional<Estimate> speed_up_of(const Judgement& judgement) {
  if (!judgement.shift) return std::nullopt;
  Estimate speed_up{.value = std::exp(-*judgement.shift), .replicates = 1};
  if (!judgement.interval) return speed_up;
  speed_up.interval =
      Interval{std::exp(-judgement.interval->high), std::exp(-judgement.interval->low)};
  speed_up.replicates = std::min(judgement.basis->before, judgement.basis->after);
  return speed_up;
}

/// Says what takes part in no comparison.
std::optional<Reason> why_not_comparable(const RunComparison& comparison,
                                         const CaseComparison& each) {
  const BackendKind before = comparison.before->settings.backend;
  const BackendKind after = comparison.after->settings.backend;
  if (before != after) {
    return Reason{
        .kind = Reason::Kind::other_backend,
        .words = fmt::format("backend {} before, {} after", name_of(before), name_of(after))};
  }
  for (const auto& [when, figures] : {std::pair{"before", each.before}, {"after", each.after}}) {
    if (figures->no_time.empty()) continue;
    return Reason{.kind = Reason::Kind::no_time,
                  .words = fmt::format("{}: {}", when, figures->no_time)};
  }
  const std::string unit = unit_of(each.before->definition);
  const std::string unit_after = unit_of(each.after->definition);
  if (!unit.empty() && !unit_after.empty() && unit != unit_after) {
    return Reason{.kind = Reason::Kind::no_time,
                  .words = fmt::format("in {} before, in {} after", unit, unit_after)};
  }
  return std::nullopt;
}

/// Says what disturbed either side, if anything is known.
std::vector<Reason> disturbances_of(const CaseComparison& each) {
  std::vector<Reason> reasons;
  for (const auto& [when, figures] : {std::pair{"before", each.before}, {"after", each.after}}) {
    const std::string text = disturbance_text(figures->disturbance);
    if (text.empty()) continue;
    reasons.push_back(
        {.kind = Reason::Kind::disturbed, .words = fmt::format("{}: {}", when, text)});
  }
  return reasons;
}

/// Says which run lacks the case.
Reason why_missing(const RunComparison& comparison, const CaseComparison& each) {
  const std::string& name = lacking_run(comparison, each).name;
  const std::optional<LaunchMode> other = other_launch(comparison, each);
  if (!other) return {.kind = Reason::Kind::not_recorded, .words = name};
  return {.kind = Reason::Kind::other_launch,
          .words = fmt::format("in {} by {} alone", name, name_of(*other))};
}

/// Takes the tolerance on the log scale, so that twice as fast and half as fast weigh the same.
Tolerance within(double share) { return {1.0 / (1.0 + share) - 1.0, share}; }

/// Asks whether the case changed, with the shift that launches tell. Where they tell nothing, as
/// of one launch, the times say what they were, and no direction.
Question question_of(const RunComparison& comparison, const CaseComparison& each) {
  if (each.before == nullptr || each.after == nullptr) {
    return {.fact = Verdict::missing, .reasons = {why_missing(comparison, each)}};
  }
  if (const std::optional<Reason> reason = why_not_comparable(comparison, each)) {
    return {.fact = Verdict::not_comparable, .reasons = {*reason}};
  }
  Question question{.reasons = disturbances_of(each),
                    .shift = each.basis,
                    .tolerance = within(comparison.tolerance)};
  if (each.basis) return question;
  const bool of_program = is_program(each.definition.operation);
  question.reasons.insert(
      question.reasons.begin(),
      {.kind = Reason::Kind::one_launch,
       .words = of_program ? "too few runs to compare" : "too few launches to compare"});
  if (!of_program) {
    question.log = mean_log(each.after->launches) - mean_log(each.before->launches);
  }
  return question;
}

Setup setup_of(const RunFigures& run) {
  Setup setup{&run.machine, &run.settings, name_of(run.source)};
  for (const CaseFigures& figures : run.cases) {
    setup.highest_sm_clock_mhz =
        std::max(setup.highest_sm_clock_mhz, figures.health.highest_sm_clock_mhz.value_or(0));
  }
  return setup;
}

/// Adds settings of nccl-tests that differ between two of its files; both tell them.
void add_settings_of_nccl_tests(std::vector<MachineDifference>& changes, const RunFigures& before,
                                const RunFigures& after) {
  for (const auto& [name, value] : after.settings_of_nccl_tests) {
    const auto earlier = before.settings_of_nccl_tests.find(name);
    if (earlier == before.settings_of_nccl_tests.end() || earlier->second == value) continue;
    changes.push_back({DifferenceKind::setting, Weight::caution, name, earlier->second, value});
  }
}

CaseComparison row_of(const CaseFigures& figures, const VariantMatch& match) {
  CaseComparison row;
  row.name = figures.name;
  row.definition = figures.definition;
  row.variant = match.label(figures.variant);
  return row;
}

/// Matches the cases, with the shifts of those that both runs have, as far as launches tell them.
std::vector<CaseComparison> matched_cases(const RunFigures& before, const RunFigures& after,
                                          const CompareOptions& options) {
  const VariantMatch match(before, after);
  const auto before_means = means_of(before);
  const auto after_means = means_of(after);
  std::vector<CaseComparison> rows;
  std::vector<bool> used(before.cases.size(), false);
  for (std::size_t own = 0; own < after.cases.size(); ++own) {
    const CaseFigures& figures = after.cases[own];
    if (!is_selected(figures, options) || !match.counts(figures.variant, true)) continue;
    CaseComparison row = row_of(figures, match);
    row.after = &figures;
    for (std::size_t i = 0; i < before.cases.size() && row.before == nullptr; ++i) {
      if (used[i] || !match.matches(before.cases[i], figures)) continue;
      row.before = &before.cases[i];
      if (before_means[i] && after_means[own]) {
        row.basis = shift_between(*before_means[i], *after_means[own]);
      }
      used[i] = true;
    }
    rows.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < before.cases.size(); ++i) {
    const CaseFigures& figures = before.cases[i];
    if (used[i] || !is_selected(figures, options) || !match.counts(figures.variant, false)) {
      continue;
    }
    CaseComparison row = row_of(figures, match);
    row.before = &figures;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

RunComparison compare_runs(const RunFigures& before, const RunFigures& after,
                           const CompareOptions& options) {
  RunComparison comparison;
  comparison.before = &before;
  comparison.after = &after;
  comparison.tolerance = options.tolerance;
  comparison.changes = differences_between(setup_of(before), setup_of(after));
  add_settings_of_nccl_tests(comparison.changes, before, after);
  comparison.cases = matched_cases(before, after, options);
  std::vector<Question> questions;
  for (const CaseComparison& each : comparison.cases) {
    questions.push_back(question_of(comparison, each));
  }
  const std::vector<Judgement> judgements = judge(questions, Claim::change);
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    CaseComparison& each = comparison.cases[i];
    static_cast<Judgement&>(each) = judgements[i];
    each.speed_up = speed_up_of(each);
  }
  return comparison;
}

const RunFigures& lacking_run(const RunComparison& comparison, const CaseComparison& each) {
  return each.before == nullptr ? *comparison.before : *comparison.after;
}

std::optional<LaunchMode> other_launch(const RunComparison& comparison,
                                       const CaseComparison& each) {
  Case other = each.definition;
  other.launch =
      each.definition.launch == LaunchMode::graph ? LaunchMode::stream : LaunchMode::graph;
  const std::vector<CaseFigures>& cases = lacking_run(comparison, each).cases;
  const bool known = std::ranges::any_of(
      cases, [&](const CaseFigures& figures) { return figures.definition == other; });
  return known ? std::optional(other.launch) : std::nullopt;
}

bool has_common_case(const RunComparison& comparison) {
  return !std::ranges::all_of(comparison.cases, [](const CaseComparison& each) {
    return each.verdict == Verdict::missing;
  });
}

bool has_compared_times(const CaseComparison& each) {
  return each.verdict != Verdict::missing && each.verdict != Verdict::not_comparable;
}

bool has_wrong_side(const CaseComparison& each) {
  return (each.before != nullptr && each.before->wrong_data) ||
         (each.after != nullptr && each.after->wrong_data);
}

ExitCode exit_code_of(const RunComparison& comparison) {
  if (std::ranges::any_of(comparison.cases, has_wrong_side)) return ExitCode::wrong_data;
  return std::ranges::any_of(comparison.cases, has_compared_times) ? ExitCode::success
                                                                   : ExitCode::inconclusive;
}

bool was_asked_for(const std::vector<CaseComparison>& cases, const CaseComparison& each) {
  const auto is_named = [](const CaseComparison& other) {
    return other.speed_up && other.definition.metric &&
           !is_always_measured(*other.definition.metric);
  };
  return !each.definition.metric || !is_always_measured(*each.definition.metric) ||
         std::ranges::none_of(cases, is_named);
}

const CaseComparison* headline_case(const RunComparison& comparison) {
  const auto training = std::ranges::find_if(comparison.cases, [](const auto& each) {
    return each.speed_up && may_stand_for_run(each.definition);
  });
  if (training != comparison.cases.end()) return &*training;
  const CaseComparison* best = nullptr;
  const auto is_all_reduce = [](const CaseComparison& each) {
    return each.definition.operation == OperationKind::all_reduce;
  };
  for (const CaseComparison& each : comparison.cases) {
    if (!each.speed_up || !was_asked_for(comparison.cases, each)) continue;
    if (best == nullptr) {
      best = &each;
      continue;
    }
    if (each.variant != best->variant) continue;
    const bool same_operation = each.definition.operation == best->definition.operation;
    const bool larger = each.definition.size > best->definition.size;
    if (same_operation ? larger : is_all_reduce(each)) best = &each;
  }
  return best;
}

}  // namespace linkgain
