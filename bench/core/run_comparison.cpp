#include "linkgain/core/run_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "comparison_cautions.hpp"
#include "linkgain/core/student_t.hpp"

namespace linkgain {
namespace {

/// P(|Z| < 1.96) = 95 % for a standard normal Z.
constexpr double kNormalQuantile = 1.959963984540054;
constexpr double kConfidence = 0.95;

bool is_selected(const CaseFigures& figures, const CompareOptions& options) {
  if (options.operations.empty()) return true;
  return figures.definition && std::find(options.operations.begin(), options.operations.end(),
                                         figures.definition->operation) != options.operations.end();
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

double mean_log(const std::vector<Seconds>& launches) {
  double sum = 0.0;
  for (const Seconds& launch : launches) sum += std::log(launch.value);
  return sum / static_cast<double>(launches.size());
}

Interval speed_up_of(const CaseFigures& before, const CaseFigures& after, const RunSpread& spread) {
  const double shift = mean_log(before.launches) - mean_log(after.launches);
  const double error =
      spread.deviation * std::sqrt(1.0 / static_cast<double>(before.launches.size()) +
                                   1.0 / static_cast<double>(after.launches.size()));
  const double quantile = spread.degrees_of_freedom ? student_t_quantile(0.5 + kConfidence / 2.0,
                                                                         *spread.degrees_of_freedom)
                                                    : kNormalQuantile;
  return {std::exp(shift), std::exp(shift - quantile * error), std::exp(shift + quantile * error)};
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

void fill(CaseComparison& each, const RunComparison& comparison, const RunSpreads& spreads) {
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
  each.spread = spreads.between(*each.before, *each.after);
  each.speed_up = speed_up_of(*each.before, *each.after, *each.spread);
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
  RunSpreads spreads;
  for (const CaseFigures& figures : before.cases) spreads.add(figures);
  for (const CaseFigures& figures : after.cases) spreads.add(figures);
  for (CaseComparison& each : comparison.cases) fill(each, comparison, spreads);
  comparison.cautions = cautions_of(comparison);
  return comparison;
}

const CaseComparison* headline_case(const RunComparison& comparison) {
  const CaseComparison* best = nullptr;
  const auto is_all_reduce = [](const CaseComparison& each) {
    return each.definition->operation == OperationKind::all_reduce;
  };
  for (const CaseComparison& each : comparison.cases) {
    if (!each.speed_up || !each.definition) continue;
    if (best == nullptr) {
      best = &each;
      continue;
    }
    if (each.variant != best->variant) continue;
    const bool same_operation = each.definition->operation == best->definition->operation;
    const bool larger = each.definition->size > best->definition->size;
    if (same_operation ? larger : is_all_reduce(each)) best = &each;
  }
  return best;
}

}  // namespace linkgain
