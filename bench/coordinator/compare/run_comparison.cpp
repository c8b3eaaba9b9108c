#include "linkgain/compare/run_comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

bool is_selected(const CaseFigures& figures, const CompareOptions& options) {
  if (options.operations.empty()) return true;
  return std::find(options.operations.begin(), options.operations.end(),
                   figures.definition.operation) != options.operations.end();
}

std::string first_variant(const RunFigures& run) {
  return run.cases.empty() ? "" : run.cases.front().variant;
}

bool has_variant(const RunFigures& run, const std::string& name) {
  return std::any_of(run.cases.begin(), run.cases.end(),
                     [&](const CaseFigures& figures) { return figures.variant == name; });
}

/// Which variants stand for each other.
class VariantMatch {
 public:
  VariantMatch(const RunFigures& before, const RunFigures& after)
      : first_before_(first_variant(before)), first_after_(first_variant(after)) {
    by_name_ = std::any_of(after.cases.begin(), after.cases.end(), [&](const CaseFigures& each) {
      return has_variant(before, each.variant);
    });
  }

  /// Whether a variant takes part at all: by name all do, else the first ones.
  bool counts(const std::string& variant, bool after) const {
    return by_name_ || variant == (after ? first_after_ : first_before_);
  }
  bool matches(const CaseFigures& before, const CaseFigures& after) const {
    if (before.name != after.name) return false;
    if (by_name_) return before.variant == after.variant;
    return before.variant == first_before_ && after.variant == first_after_;
  }
  /// What a row is called.
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

/// What the launches of each case of a run say, in its order; absent without a time.
std::vector<std::optional<LaunchMean>> means_of(const RunFigures& run) {
  std::vector<CaseLaunches> all;
  for (const CaseFigures& figures : run.cases) {
    all.push_back({figures.definition, figures.variant, {}});
    if (figures.no_time.empty()) all.back().launches = figures.launches;
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

/// Assumes a deviation of a case of both runs, where launches of like cases tell none: never less
/// than what the samples of either show.
LaunchShift assumed_shift(BackendKind backend, const CaseFigures& before,
                          const CaseFigures& after) {
  const double assumed = backend == BackendKind::mpi ? kAssumedCpuDeviation
                                                     : assumed_deviation(before.definition.size);
  const LaunchDeviation deviation{.deviation = std::max({assumed, before.sample_error.value_or(0.0),
                                                         after.sample_error.value_or(0.0)}),
                                  .degrees_of_freedom = std::nullopt};
  const auto mean = [&](const CaseFigures& figures) {
    return mean_of(figures.definition, figures.launches, deviation);
  };
  return shift_between(mean(before), mean(after)).value();
}

/// How many times longer it took before.
Estimate speed_up_of(const LaunchShift& shift, ShiftQuantiles& quantiles) {
  const Interval log = interval_of(shift, quantiles);
  return {.value = std::exp(-shift.log),
          .interval = Interval{std::exp(-log.high), std::exp(-log.low)},
          .replicates = std::min(shift.before, shift.after)};
}

/// The tolerance is meant on the log scale, so that twice as fast and half as fast weigh the same.
CaseVerdict judge(const Estimate& speed_up, double tolerance) {
  const double bound = std::log1p(tolerance);
  const double shift = std::log(speed_up.value);
  const Interval& interval = *speed_up.interval;
  if (std::log(interval.low) > -bound && std::log(interval.high) < bound) return CaseVerdict::same;
  if (interval.low > 1.0 && shift > bound) return CaseVerdict::faster;
  if (interval.high < 1.0 && shift < -bound) return CaseVerdict::slower;
  return CaseVerdict::inconclusive;
}

std::string why_not_comparable(const RunComparison& comparison, const CaseComparison& each) {
  const BackendKind before = comparison.before->settings.backend;
  const BackendKind after = comparison.after->settings.backend;
  if (before != after) {
    return fmt::format("backend {} before, {} after", name_of(before), name_of(after));
  }
  if (!each.before->no_time.empty()) return "before: " + each.before->no_time;
  if (!each.after->no_time.empty()) return "after: " + each.after->no_time;
  return {};
}

/// "before: other processes were active in 3 samples"; empty where nothing is known of either side.
std::string disturbances_text(const CaseComparison& each) {
  std::vector<std::string> parts;
  for (const auto& [when, figures] :
       {std::pair{"before", each.before}, std::pair{"after", each.after}}) {
    const std::string text = describe(figures->disturbance);
    if (!text.empty()) parts.push_back(fmt::format("{}: {}", when, text));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

void fill(CaseComparison& each, const RunComparison& comparison, ShiftQuantiles& quantiles) {
  if (each.before == nullptr || each.after == nullptr) {
    const std::string& name = lacking_run(comparison, each).name;
    const std::optional<LaunchMode> other = other_launch(comparison, each);
    each.reason = other ? fmt::format("in {} by {} alone", name, name_of(*other))
                        : fmt::format("not in {}", name);
    return;
  }
  each.reason = why_not_comparable(comparison, each);
  if (!each.reason.empty()) {
    each.verdict = CaseVerdict::not_comparable;
    return;
  }
  each.reason = disturbances_text(each);
  if (!each.shift) {
    each.shift = assumed_shift(comparison.before->settings.backend, *each.before, *each.after);
  }
  each.speed_up = speed_up_of(*each.shift, quantiles);
  each.verdict = judge(*each.speed_up, comparison.tolerance);
}

CaseComparison row_of(const CaseFigures& figures, const VariantMatch& match) {
  CaseComparison row;
  row.name = figures.name;
  row.definition = figures.definition;
  row.variant = match.label(figures.variant);
  return row;
}

/// With the shifts of those that both runs have, as far as launches tell them.
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
        row.shift = shift_between(*before_means[i], *after_means[own]);
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

std::string_view name_of(CaseVerdict verdict) {
  switch (verdict) {
    case CaseVerdict::same:
      return "same";
    case CaseVerdict::faster:
      return "faster";
    case CaseVerdict::slower:
      return "slower";
    case CaseVerdict::inconclusive:
      return "inconclusive";
    case CaseVerdict::not_comparable:
      return "not comparable";
    case CaseVerdict::missing:
      return "missing";
  }
  throw std::invalid_argument("no such verdict");
}

RunComparison compare_runs(const RunFigures& before, const RunFigures& after,
                           const CompareOptions& options) {
  RunComparison comparison;
  comparison.before = &before;
  comparison.after = &after;
  comparison.tolerance = options.tolerance;
  comparison.changes = changes_between(before, after);
  comparison.cases = matched_cases(before, after, options);
  ShiftQuantiles quantiles;
  for (CaseComparison& each : comparison.cases) fill(each, comparison, quantiles);
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
  const bool known = std::any_of(cases.begin(), cases.end(), [&](const CaseFigures& figures) {
    return figures.definition == other;
  });
  return known ? std::optional(other.launch) : std::nullopt;
}

bool has_common_case(const RunComparison& comparison) {
  return !std::ranges::all_of(comparison.cases, [](const CaseComparison& each) {
    return each.verdict == CaseVerdict::missing;
  });
}

const CaseComparison* headline_case(const RunComparison& comparison) {
  const auto training = std::find_if(
      comparison.cases.begin(), comparison.cases.end(),
      [](const auto& each) { return each.speed_up && may_stand_for_run(each.definition); });
  if (training != comparison.cases.end()) return &*training;
  const CaseComparison* best = nullptr;
  const auto is_all_reduce = [](const CaseComparison& each) {
    return each.definition.operation == OperationKind::all_reduce;
  };
  for (const CaseComparison& each : comparison.cases) {
    if (!each.speed_up) continue;
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
