#include "linkgain/summary/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

/// Leaves out what NCCL alone reads.
Environment without_nccl(Environment environment) {
  std::erase_if(environment, [](const auto& each) {
    return each.first.starts_with("NCCL_") || each.first == "LINKGAIN_NCCL";
  });
  return environment;
}

/// Gives all curves that may answer what the row's variant changes, and those of kernels where the
/// row is of one.
std::vector<const Curve*> curves_for(const RunSummary& summary, const AnswerRow& row) {
  std::vector<const Curve*> curves;
  for (const CaseGroup& group : summary.groups) {
    const Case definition = group.all.definition();
    const bool is_alike = definition.kernel && row.of->definition().kernel;
    if (is_alike || may_answer(summary, definition, row.other)) curves.push_back(&group.all);
  }
  return curves;
}

}  // namespace

Interval change_interval(const Comparison* comparison) {
  if (comparison == nullptr || !is_change(comparison->verdict) || !comparison->has_interval()) {
    return {};
  }
  const Interval& ratio = *comparison->ratio->interval;
  return comparison->verdict == Verdict::faster
             ? Interval{std::log(ratio.low), std::log(ratio.high)}
             : Interval{-std::log(ratio.high), -std::log(ratio.low)};
}

const Comparison* AnswerRow::comparison() const {
  const bool is_there = of != nullptr && other > 0 && other <= of->comparisons.size();
  return is_there ? &of->comparisons[other - 1] : nullptr;
}

double change_of(const AnswerRow& row) {
  return std::abs(std::log(row.comparison()->ratio->value));
}

bool is_of_setting(const AnswerRow& row) { return row.comparison()->contrast == Contrast::variant; }

Verdict contrary_of(Verdict change) {
  return change == Verdict::faster ? Verdict::slower : Verdict::faster;
}

bool changes_with(const AnswerRow& row, const AnswerRow& spoken, Verdict verdict) {
  const Comparison* const own = row.comparison();
  if (own == nullptr || own->verdict != verdict) return false;
  const Comparison* const main = spoken.comparison();
  const double few = std::log1p(kFewPerCent);
  const bool is_less = main != nullptr && is_change(main->verdict) && change_of(spoken) < few;
  return change_of(row) >= (is_less ? change_of(spoken) : few);
}

std::string ranges_text(const std::vector<SizeRange>& ranges, std::string_view preposition) {
  const auto ends = [](const CaseSummary* least, const CaseSummary* most) {
    const std::string from = readable_bytes(least->definition().size);
    const std::string to = readable_bytes(most->definition().size);
    return from == to ? from : fmt::format("{} to {}", from, to);
  };
  std::size_t sizes = 0;
  std::vector<std::string> parts;
  for (const SizeRange range : ranges) {
    sizes += range.size();
    const std::string own = ends(range.front(), range.back());
    parts.push_back(parts.empty() ? own : fmt::format("{} {}", preposition, own));
  }
  constexpr std::size_t kMostNamed = 3;
  if (parts.size() <= kMostNamed) {
    return listed(std::vector<std::string_view>(parts.begin(), parts.end()));
  }
  return fmt::format("{} ({} sizes)", ends(ranges.front().front(), ranges.back().back()), sizes);
}

std::vector<SizeRange> ranges_where(const RunSummary& summary, const AnswerRow& row,
                                    const std::function<bool(const CaseSummary*)>& is) {
  const Curve* const curve = summary.curve_with(row.of);
  if (curve == nullptr) return {{&row.of, 1}};
  std::vector<SizeRange> ranges;
  const auto end = curve->cases.end();
  for (auto first = std::ranges::find_if(curve->cases, is); first != end;) {
    const auto last = std::find_if_not(first, end, is);
    ranges.emplace_back(first, last);
    first = std::find_if(last, end, is);
  }
  return ranges;
}

std::vector<SizeRange> ranges_like(const RunSummary& summary, const AnswerRow& row) {
  const auto changes = [&](const CaseSummary* each) {
    return changes_with({each, row.other}, row, row.comparison()->verdict);
  };
  return ranges_where(summary, row, changes);
}

AnswerRow most_contrary(const RunSummary& summary, const AnswerRow& row) {
  AnswerRow most{nullptr, row.other};
  const Curve* const curve = summary.curve_with(row.of);
  if (curve == nullptr) return most;
  for (const CaseSummary* each : curve->cases) {
    const AnswerRow own{each, row.other};
    if (!changes_with(own, row, contrary_of(row.comparison()->verdict))) continue;
    if (most.of == nullptr || change_of(own) > change_of(most)) most = own;
  }
  return most;
}

AnswerRow most_changed(const Curve& curve, std::size_t other, std::optional<Verdict> only) {
  AnswerRow most{nullptr, other};
  for (const CaseSummary* each : curve.cases) {
    const AnswerRow row{each, other};
    const Comparison* const own = row.comparison();
    if (own == nullptr || !is_change(own->verdict) || !own->has_interval()) continue;
    if ((only && own->verdict != *only) || change_of(row) < std::log1p(kFewPerCent)) continue;
    if (most.of == nullptr || change_of(row) > change_of(most)) most = row;
  }
  return most;
}

std::vector<AnswerRow> confirmed_rows(const RunSummary& summary) {
  std::vector<AnswerRow> rows;
  for (std::size_t i = 0; summary.tuning && i < summary.cases.size(); ++i) {
    const Confirmation& found = summary.tuning->confirmations[i];
    if (!found.holds) continue;
    const auto& variants = summary.record.settings.variants;
    const auto own =
        std::ranges::find(variants, summary.tuning->variants[found.variant].name, &Variant::name);
    rows.push_back({&summary.cases[i], static_cast<std::size_t>(own - variants.begin())});
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, change_of);
  return rows;
}

bool may_answer(const RunSummary& summary, const Case& definition, std::size_t other) {
  if (is_training(definition.operation)) return may_stand_for_run(definition);
  if (!definition.kernel) return true;
  const std::vector<Variant>& variants = summary.record.settings.variants;
  if (other >= variants.size()) return false;
  return variants[other].worker != variants.front().worker ||
         without_nccl(variants[other].environment) != without_nccl(variants.front().environment);
}

std::vector<const Curve*> curves_beside(const RunSummary& summary, const AnswerRow& row) {
  std::vector<const Curve*> curves = curves_for(summary, row);
  std::erase_if(curves,
                [&](const Curve* each) { return std::ranges::count(each->cases, row.of) > 0; });
  return curves;
}

std::string_view word_for_curves(const RunSummary& summary, const AnswerRow& row) {
  std::set<OperationKind> operations;
  std::set<std::pair<OperationKind, LaunchMode>> modes;
  const std::vector<const Curve*> curves = curves_for(summary, row);
  for (const Curve* each : curves) {
    const Case definition = each->definition();
    operations.insert(definition.operation);
    modes.emplace(definition.operation, definition.launch);
  }
  return operations.size() == curves.size() ? "operations"
         : modes.size() == curves.size()    ? "operations and launch modes"
                                            : "operations and forms";
}

}  // namespace linkgain
