#include "linkgain/compare/run_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "assumed_spread.hpp"
#include "comparison_cautions.hpp"
#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/training_summary.hpp"

namespace linkgain {
namespace {

/// P(|Z| < 1.96) = 95 % for a standard normal Z.
constexpr double kNormalQuantile = 1.959963984540054;

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

using Spreads = std::vector<std::optional<Spread>>;

/// How launches of each case of a run differ.
Spreads spreads_of(const RunFigures& run) {
  std::vector<CaseLaunches> all;
  for (const CaseFigures& figures : run.cases) {
    all.push_back({figures.definition, figures.variant, {}});
    if (figures.no_time.empty()) all.back().launches = figures.launches;
  }
  return pooled_spreads(all);
}

/// The spreads of two runs.
class BothSpreads {
 public:
  BothSpreads(const RunFigures& before, const RunFigures& after)
      : before_(before),
        after_(after),
        spreads_before_(spreads_of(before)),
        spreads_after_(spreads_of(after)) {}

  /// Of a case of both, which are part of them.
  ComparisonSpread of(const CaseFigures& before, const CaseFigures& after) const {
    const auto pooled = combine_spreads(spreads_before_.at(place_of(before, before_)),
                                        spreads_after_.at(place_of(after, after_)));
    return pooled ? ComparisonSpread{pooled->deviation, pooled->degrees_of_freedom}
                  : assumed_spread(spread_source(before_), before, after);
  }

 private:
  static std::size_t place_of(const CaseFigures& figures, const RunFigures& run) {
    return static_cast<std::size_t>(&figures - run.cases.data());
  }

  const RunFigures& before_;
  const RunFigures& after_;
  Spreads spreads_before_;
  Spreads spreads_after_;
};

Interval speed_up_of(const CaseFigures& before, const CaseFigures& after,
                     const ComparisonSpread& spread, ShiftQuantiles& quantiles) {
  const int degrees = spread.degrees_of_freedom.value_or(1);
  const LaunchShift shift{mean_log(after.launches) - mean_log(before.launches),
                          {spread.deviation, degrees},
                          static_cast<int>(before.launches.size()),
                          static_cast<int>(after.launches.size())};
  const double quantile = spread.degrees_of_freedom ? quantiles.at(degrees) : kNormalQuantile;
  const double half_width = quantile * standard_error(shift);
  return {std::exp(-shift.log), std::exp(-shift.log - half_width),
          std::exp(-shift.log + half_width)};
}

/// The threshold is meant on the log scale, so that twice as fast and half as fast weigh the same.
CaseVerdict judge(const Interval& speed_up, double threshold) {
  const double bound = std::log1p(threshold);
  const double shift = std::log(speed_up.estimate);
  if (std::log(speed_up.low) > -bound && std::log(speed_up.high) < bound) return CaseVerdict::same;
  if (speed_up.low > 1.0 && shift > bound) return CaseVerdict::faster;
  if (speed_up.high < 1.0 && shift < -bound) return CaseVerdict::slower;
  return CaseVerdict::inconclusive;
}

std::string why_not_comparable(const RunComparison& comparison, const CaseComparison& each) {
  const std::string& before = comparison.before->settings.backend;
  const std::string& after = comparison.after->settings.backend;
  if (!before.empty() && !after.empty() && before != after) {
    return fmt::format("backend {} before, {} after", before, after);
  }
  if (!each.before->no_time.empty()) return "before: " + each.before->no_time;
  if (!each.after->no_time.empty()) return "after: " + each.after->no_time;
  return {};
}

void fill(CaseComparison& each, const RunComparison& comparison, const BothSpreads& spreads,
          ShiftQuantiles& quantiles) {
  if (each.before == nullptr || each.after == nullptr) {
    const RunFigures& lacking = each.before == nullptr ? *comparison.before : *comparison.after;
    each.reason = fmt::format("not in {}", lacking.name);
    return;
  }
  each.reason = why_not_comparable(comparison, each);
  if (!each.reason.empty()) {
    each.verdict = CaseVerdict::not_comparable;
    return;
  }
  each.spread = spreads.of(*each.before, *each.after);
  each.speed_up = speed_up_of(*each.before, *each.after, *each.spread, quantiles);
  each.verdict = judge(*each.speed_up, comparison.threshold);
}

CaseComparison row_of(const CaseFigures& figures, const VariantMatch& match) {
  CaseComparison row;
  row.name = figures.name;
  row.definition = figures.definition;
  row.variant = match.label(figures.variant);
  return row;
}

std::vector<CaseComparison> matched_cases(const RunFigures& before, const RunFigures& after,
                                          const CompareOptions& options) {
  const VariantMatch match(before, after);
  std::vector<CaseComparison> rows;
  std::vector<bool> used(before.cases.size(), false);
  for (const CaseFigures& figures : after.cases) {
    if (!is_selected(figures, options) || !match.counts(figures.variant, true)) continue;
    CaseComparison row = row_of(figures, match);
    row.after = &figures;
    for (std::size_t i = 0; i < before.cases.size() && row.before == nullptr; ++i) {
      if (used[i] || !match.matches(before.cases[i], figures)) continue;
      row.before = &before.cases[i];
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
  comparison.threshold = options.threshold;
  comparison.changes = changes_between(before, after);
  comparison.cases = matched_cases(before, after, options);
  const BothSpreads spreads(before, after);
  ShiftQuantiles quantiles;
  for (CaseComparison& each : comparison.cases) fill(each, comparison, spreads, quantiles);
  comparison.cautions = cautions_of(comparison);
  return comparison;
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
