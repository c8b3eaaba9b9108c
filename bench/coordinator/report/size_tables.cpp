#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>

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
  if (from != to) {
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

/// Adds the steps with what curve it is in front of each.
void add_labelled_steps(std::vector<Text>& items, const Curve& curve) {
  add_steps(items, curve, curve_label(curve.definition()) + ": ");
}

/// Shows the first curve of each operation in one table.
Document first_curves(const RunSummary& summary) {
  RowLabels rows{.title = {"Case"}, .label = case_label, .place = "in this case"};
  std::vector<const CaseSummary*> cases;
  for (const Curve& curve : summary.curves_by_size) {
    cases.insert(cases.end(), curve.cases.begin(), curve.cases.end());
    add_labelled_steps(rows.items, curve);
  }
  const Curve all = curve_of("", std::move(cases));
  return case_table(summary, all, rows);
}

/// A ratio and the case that it is of; the lower and the higher end of what a group has.
struct Ends {
  struct End {
    const Estimate* ratio = nullptr;
    const CaseSummary* of = nullptr;
  };
  End least{};
  End most{};

  void add(const Estimate& ratio, const CaseSummary& of) {
    if (least.of == nullptr || ratio.value < least.ratio->value) least = {&ratio, &of};
    if (most.of == nullptr || ratio.value > most.ratio->value) most = {&ratio, &of};
  }
};

/// Says "1.95x (int8 min 64 KiB)": of a single curve the size is enough. Empty where there is none.
std::string end_cell(const Ends::End& end, const CurveGroup& group) {
  if (end.of == nullptr) return {};
  const Case& definition = end.of->definition();
  const std::string what =
      group.curves.size() == 1
          ? readable_bytes(definition.size)
          : case_label(definition).substr(name_of(definition.operation).size() + 1);
  return fmt::format("{} ({})", readable_ratio(*end.ratio).estimate, what);
}

/// What a group's cases gave for one variant against the first, or for the first against it.
struct GroupRow {
  Ends speed_up{};
  std::map<Verdict, int> verdicts{};
  int not_converged = 0;  ///< of those with a speed-up

  int count(std::initializer_list<Verdict> kinds) const {
    int all = 0;
    for (const Verdict kind : kinds) {
      const auto found = verdicts.find(kind);
      all += found == verdicts.end() ? 0 : found->second;
    }
    return all;
  }
};

std::string count_cell(int count) { return count == 0 ? "" : std::to_string(count); }

/// Counts by variant, all but the first.
std::map<std::string, GroupRow> rows_of(const CurveGroup& group) {
  std::map<std::string, GroupRow> rows;
  for (const Curve& curve : group.curves) {
    for (const CaseSummary* each : curve.cases) {
      for (const Comparison& comparison : each->comparisons) {
        GroupRow& row = rows[comparison.other->variant];
        ++row.verdicts[comparison.verdict];
        if (!comparison.has_speed_up()) continue;
        row.speed_up.add(*comparison.ratio, *each);
        if (!each->result->converged) ++row.not_converged;
      }
    }
  }
  return rows;
}

/// Names the sizes that the group's curves have, "64 KiB to 16 MiB".
std::string sizes_of(const CurveGroup& group) {
  Bytes least = group.curves.front().cases.front()->definition().size;
  Bytes most = least;
  for (const Curve& curve : group.curves) {
    least = std::min(least, curve.cases.front()->definition().size);
    most = std::max(most, curve.cases.back()->definition().size);
  }
  return least == most ? readable_bytes(least)
                       : fmt::format("{} to {}", readable_bytes(least), readable_bytes(most));
}

/// Says, with the first variant, how many times longer NCCL's operation or the copy engine takes.
std::string library_cell(const CurveGroup& group) {
  Ends ends;
  for (const Curve& curve : group.curves) {
    for (const CaseSummary* each : curve.cases) {
      if (each->variants.empty() || !each->variants.front().library_ratio) continue;
      ends.add(*each->variants.front().library_ratio, *each);
    }
  }
  if (ends.least.of == nullptr) return {};
  const std::string least = end_cell(ends.least, group);
  return ends.least.of == ends.most.of ? least
                                       : fmt::format("{} to {}", least, end_cell(ends.most, group));
}

/// Shows a row for each group of curves; where there are more variants than two, for each but the
/// first.
Table group_table(const RunSummary& summary) {
  std::vector<Table::Column> columns{{"Curves"},
                                     {"Number", kRight},
                                     {"Sizes"},
                                     {"Against", Table::Alignment::left, true},
                                     {"Faster", kRight},
                                     {"Inconclusive", kRight},
                                     {"Slower", kRight},
                                     {"Least speed-up"},
                                     {"Most speed-up"},
                                     {"Library / kernel", Table::Alignment::left, true},
                                     {"Not converged", kRight, true},
                                     {"WRONG DATA", kRight, true},
                                     {"Same path", kRight, true},
                                     {"Not compared", kRight, true}};
  leave_out_from_the_right(columns);
  Table table(columns);
  const bool has_two = summary.record.settings.variants.size() <= 2;
  for (const CurveGroup& group : summary.curve_groups) {
    std::map<std::string, GroupRow> rows = rows_of(group);
    if (rows.empty()) rows[""];
    bool first = true;
    for (const auto& [variant, row] : rows) {
      table.add_row(
          {first ? group.name : "", first ? std::to_string(group.curves.size()) : "",
           first ? sizes_of(group) : "", has_two ? "" : variant,
           std::to_string(row.count({Verdict::faster})),
           std::to_string(row.count({Verdict::same, Verdict::inconclusive})),
           std::to_string(row.count({Verdict::slower})), end_cell(row.speed_up.least, group),
           row.speed_up.least.of == row.speed_up.most.of ? "" : end_cell(row.speed_up.most, group),
           first ? library_cell(group) : "", count_cell(row.not_converged),
           count_cell(row.count({Verdict::wrong_data})),
           count_cell(row.count({Verdict::same_path})),
           count_cell(row.count({Verdict::missing, Verdict::not_comparable}))});
      first = false;
    }
  }
  return table;
}

/// Shows a run with more curves than anybody reads.
Document condensed_tables(const RunSummary& summary) {
  const std::string first =
      summary.record.settings.variants.empty() ? "" : summary.record.settings.variants.front().name;
  const bool has_kernels = std::ranges::any_of(
      summary.curve_groups, [](const CurveGroup& group) { return !library_cell(group).empty(); });
  std::size_t curves = summary.curves_by_size.size();
  std::vector<Text> steps;
  for (const CurveGroup& group : summary.curve_groups) {
    curves += group.curves.size();
    for (const Curve& curve : group.curves) add_labelled_steps(steps, curve);
  }
  Document document;
  document.paragraph(with_code(fmt::format(
      "This run has {} curves by size. The first of each operation is here in full, the others in "
      "groups that differ in nothing but what their row names; `linkgain report --format csv` has "
      "every case.",
      curves)));
  document.heading("First curve of each operation", 3);
  document.add(first_curves(summary));
  document.heading("Other curves", 3);
  document.table(group_table(summary));
  for (const Text& step : steps) document.item(step);
  document.item(fmt::format(
      "Faster, inconclusive, slower: cases in which {} takes less time; in which the 95 % CI "
      "includes 1, or there is one launch; in which it takes more",
      first));
  document.item("Least and most speed-up: over all cases of the row, each with its case");
  if (has_kernels) {
    document.item(fmt::format(
        "Library / kernel: time of NCCL's operation, or of the copy engine, over the kernel's with "
        "{}; the least and the most",
        first));
  }
  return document;
}

}  // namespace

Document size_tables(const RunSummary& summary) {
  if (summary.is_condensed) return condensed_tables(summary);
  Document document;
  for (const Curve& curve : summary.curves_by_size) {
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
