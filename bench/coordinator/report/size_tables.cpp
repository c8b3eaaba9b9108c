#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/report/report.hpp"
#include "run_rows.hpp"

namespace linkgain {
namespace {

/// Says what NCCL or our kernel does at either end; empty where that is not known of both.
std::string plan_change(const TransferPlan& from, const TransferPlan& to, bool kernel) {
  if (from.protocol.empty() || to.protocol.empty()) {
    return {};
  }
  if (readable_plan(from) != readable_plan(to)) {
    return fmt::format("; {} changes from {} to {} there", kernel ? "the kernel" : "NCCL",
                       readable_plan(from), readable_plan(to));
  }
  if (kernel) {
    return fmt::format("; the kernel's form stays the same ({})", readable_plan(from));
  }
  return fmt::format(
      "; {} the same ({})",
      from.algorithm.empty() ? "NCCL's protocol stays" : "NCCL's algorithm and protocol stay",
      readable_plan(from));
}

/// Adds an item for each step of a curve, by variant and size: "Step from 1 MiB to 2 MiB with p2p:
/// 2x the size takes 1.92x the time, …", with `lead` in front.
void add_steps(std::vector<Text>& items, const Curve& curve, std::string_view lead = {}) {
  const auto times = [](double factor) {
    return fmt::format("{:.{}f}x", factor, factor >= 9.995 ? 1 : 2);
  };
  for (const auto& [variant, step] : curve.steps) {
    const double size =
        static_cast<double>(step.to.size.value) / static_cast<double>(step.from.size.value);
    items.emplace_back(fmt::format(
        "{}{} from {} to {} with {}: {:.{}f}x the size takes {} the time, where the pace before "
        "and after it gives {} and {}{}",
        lead, step.falls() ? "Fall" : "Step", readable_bytes(step.from.size),
        readable_bytes(step.to.size), variant, size, size == std::round(size) ? 0 : 2,
        times(step.to.time.value / step.from.time.value), times(step.pace_before),
        times(step.pace_after),
        plan_change(step.from.plan, step.to.plan, curve.definition().kernel)));
  }
}

/// Adds for a curve of our own kernel how many times longer NCCL's operation, or the copy engine,
/// took at each size, with the interval of library_ratio, for each variant that has right data of
/// both; nothing where there is no such size.
void add_kernel_table(Document& document, const Curve& curve) {
  RunColumns columns{label_column({"Size", kRight})};
  const auto ratio_of = [](const RunRow& row) {
    const std::optional<Estimate>& ratio = row.summary().library_ratio;
    return ratio ? readable_ratio(*ratio) : RatioText{};
  };
  for (std::size_t i = 0; i < curve.variants.size(); ++i) {
    add_of_variant(columns, i,
                   {{{curve.variants[i], kRight, true},
                     [=](const auto& row) { return ratio_of(row).estimate; }},
                    {{"95 % CI", kRight, true, 1},
                     [=](const auto& row) { return ratio_of(row).interval(); }}});
  }
  std::vector<RunRow> rows;
  bool any = false;
  for (const CaseSummary* each : curve.cases) {
    rows.push_back({each, 0, readable_bytes(each->definition().size)});
    any = any || std::ranges::any_of(each->variants, [](const VariantSummary& variant) {
            return variant.library_ratio.has_value();
          });
  }
  if (!any) return;
  document.table(table_of(columns, rows, Narrow::from_the_right,
                          is_copy(curve.definition().operation)
                              ? "By kernel, times as fast as by copy engine"
                              : "Headroom (NCCL time / kernel time)"));
}

/// Curves that differ in type, reduction, root, ranks or pair only.
using CurveKind = std::vector<const Curve*>;

/// Lists kinds of the curves that are not shown in full, in order of appearance.
std::vector<CurveKind> other_kinds(const std::vector<const Curve*>& curves) {
  std::vector<std::pair<Case, CurveKind>> kinds;
  for (const Curve* curve : curves) {
    if (curve->is_in_full) continue;
    Case common = curve->definition();
    common.size = Bytes{};
    common.type = Case{}.type;
    common.reduction = Case{}.reduction;
    common.root = Case{}.root;
    common.ranks = Case{}.ranks;
    if (common.pair) common.pair = Pair{0, 1, common.pair->both};
    auto known = std::ranges::find(kinds, common, &std::pair<Case, CurveKind>::first);
    if (known == kinds.end()) known = kinds.insert(kinds.end(), {common, {}});
    known->second.push_back(curve);
  }
  std::vector<CurveKind> all;
  for (auto& [common, kind] : kinds) all.push_back(std::move(kind));
  return all;
}

/// Names the kind: of one curve by its own label.
std::string name_of(const CurveKind& kind) {
  Case definition = kind.front()->definition();
  if (kind.size() == 1) return curve_label(definition);
  definition.type = Case{}.type;
  definition.reduction = Case{}.reduction;
  definition.root = Case{}.root;
  definition.pair.reset();
  return fmt::format("{}, {} curves", curve_label(definition), kind.size());
}

/// A ratio and the case that it is of.
using RatioOf = std::pair<const Estimate*, const CaseSummary*>;

/// Says "1.95x (int8 min 64 KiB)"; of one curve the size is enough. Empty where there is no ratio.
std::string end_cell(const std::vector<RatioOf>& ratios, bool most, bool of_one_curve) {
  if (ratios.empty()) return {};
  const auto value = [](const RatioOf& each) { return each.first->value; };
  const auto [least_of, most_of] = std::ranges::minmax_element(ratios, {}, value);
  const auto& [ratio, of] = most ? *most_of : *least_of;
  const Case& definition = of->definition();
  const std::size_t operation = linkgain::name_of(definition.operation).size() + 1;
  return fmt::format(
      "{} ({})", readable_ratio(*ratio).estimate,
      of_one_curve ? readable_bytes(definition.size) : case_label(definition).substr(operation));
}

/// Adds a row of what a kind's cases gave beside one variant: how many are faster and slower, and
/// the ends of their ratios.
void add_kind(Table& table, const CurveKind& kind, std::size_t other, bool is_first) {
  std::map<Verdict, int> verdicts;
  std::vector<RatioOf> speed_ups;
  std::vector<RatioOf> libraries;
  std::set<Bytes> sizes;
  int not_converged = 0;
  int all = 0;
  std::string variant;
  for (const Curve* curve : kind) {
    for (const CaseSummary* each : curve->cases) {
      sizes.insert(each->definition().size);
      const std::optional<Estimate>& library = each->variants.front().library_ratio;
      if (library && is_first) libraries.emplace_back(&*library, each);
      if (other > each->comparisons.size()) continue;
      const Comparison& comparison = each->comparisons[other - 1];
      if (each->comparisons.size() > 1) variant = comparison.other->variant;
      ++verdicts[comparison.verdict];
      ++all;
      if (!comparison.has_speed_up()) continue;
      speed_ups.emplace_back(comparison.ratio, each);
      not_converged += each->result->converged ? 0 : 1;
    }
  }
  const auto count = [&](Verdict verdict) { return verdicts[verdict]; };
  const auto cell = [](int number) { return number == 0 ? "" : std::to_string(number); };
  const int wrong = count(Verdict::wrong_data);
  const int undecided = count(Verdict::same) + count(Verdict::inconclusive);
  const int decided = count(Verdict::faster) + count(Verdict::slower);
  const std::string least = readable_bytes(*sizes.begin());
  const auto end = [&](const std::vector<RatioOf>& ratios, bool most) {
    return most && ratios.size() < 2 ? "" : end_cell(ratios, most, kind.size() == 1);
  };
  const std::string sizes_text =
      sizes.size() == 1 ? least : fmt::format("{} to {}", least, readable_bytes(*sizes.rbegin()));
  table.add_row({is_first ? name_of(kind) : "", is_first ? sizes_text : "", variant,
                 std::to_string(count(Verdict::faster)), std::to_string(undecided),
                 std::to_string(count(Verdict::slower)), end(speed_ups, false),
                 end(speed_ups, true), end(libraries, false), end(libraries, true),
                 cell(not_converged), cell(wrong), cell(all - wrong - undecided - decided)});
}

/// Shows a run with more curves than anybody reads.
Document condensed_tables(const RunSummary& summary) {
  const std::vector<const Curve*> curves = summary.curves();
  RowLabels first{.title = {"Case"}, .label = case_label, .place = "in this case"};
  std::vector<const CaseSummary*> cases;
  std::vector<Text> steps;
  for (const Curve* curve : curves) {
    if (curve->is_in_full) cases.insert(cases.end(), curve->cases.begin(), curve->cases.end());
    add_steps(curve->is_in_full ? first.items : steps, *curve,
              curve_label(curve->definition()) + ": ");
  }
  std::vector<Table::Column> columns{{"Curves"},
                                     {"Sizes"},
                                     {"Against", Table::Alignment::left, true},
                                     {"Faster", kRight},
                                     {"Inconclusive", kRight},
                                     {"Slower", kRight},
                                     {"Least speed-up"},
                                     {"Most speed-up"},
                                     {"Least headroom", Table::Alignment::left, true},
                                     {"Most headroom", Table::Alignment::left, true},
                                     {"Not converged", kRight, true},
                                     {"WRONG DATA", kRight, true},
                                     {"Not compared", kRight, true}};
  leave_out_from_the_right(columns);
  Table others(columns);
  const std::size_t variants = std::max<std::size_t>(2, summary.record.settings.variants.size());
  for (const CurveKind& kind : other_kinds(curves)) {
    for (std::size_t i = 1; i < variants; ++i) add_kind(others, kind, i, i == 1);
  }
  Document document;
  document.paragraph(with_code(fmt::format(
      "This run has {} curves by size. The first of each operation is here in full, the others in "
      "a row for all that differ in type, reduction, root, ranks and pair only; `linkgain report "
      "--format csv` has every case.",
      curves.size())));
  document.heading("First curve of each operation", 3);
  document.add(case_table(summary, curve_of("", std::move(cases)), first));
  document.heading("Other curves", 3);
  document.table(std::move(others));
  for (const Text& step : steps) document.item(step);
  document.item(fmt::format(
      "Faster, inconclusive, slower: cases in which {} takes less time; in which the 95 % CI "
      "includes 1, or there is one launch; in which it takes more",
      summary.record.settings.variants.front().name));
  return document;
}

}  // namespace

Document size_tables(const RunSummary& summary) {
  if (summary.is_condensed) return condensed_tables(summary);
  Document document;
  for (const Curve* each : summary.curves()) {
    const Curve& curve = *each;
    RowLabels rows{.label = [](const Case& of) { return readable_bytes(of.size); },
                   .launches = curve.mixes_launches()};
    add_steps(rows.items, curve);
    document.heading(curve.name, 3);
    document.add(case_table(summary, curve, rows));
    add_kernel_table(document, curve);
  }
  return document;
}

}  // namespace linkgain
