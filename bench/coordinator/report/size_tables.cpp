#include <fmt/format.h>

#include <cmath>

#include "case_table.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/report/report.hpp"

namespace linkgain {
namespace {

/// What NCCL or our kernel does at either end; empty where that is not known of both.
std::string plan_change(const TransferPlan& from, const TransferPlan& to, bool kernel) {
  if (from.protocol.empty() || to.protocol.empty()) {
    return {};
  }
  if (from != to) {
    return fmt::format("; {} goes from {} to {} there", kernel ? "the kernel" : "NCCL",
                       readable_plan(from), readable_plan(to));
  }
  if (kernel) {
    return fmt::format("; the kernel's way stays the same ({})", readable_plan(from));
  }
  return fmt::format(
      "; {} the same ({})",
      from.algorithm.empty() ? "NCCL's protocol stays" : "NCCL's algorithm and protocol stay",
      readable_plan(from));
}

/// One item for each step of a curve, by variant and size: "- Step from 1 MiB to 2 MiB with p2p: 2x
/// the size takes 1.92x the time, …". Empty where there is none.
std::string step_lines(const Curve& curve) {
  const auto times = [](double factor) {
    return fmt::format("{:.{}f}x", factor, factor >= 9.995 ? 1 : 2);
  };
  std::string text;
  for (const auto& [variant, step] : curve.steps) {
    const double size =
        static_cast<double>(step.to.size.value) / static_cast<double>(step.from.size.value);
    text += fmt::format(
        "- {} from {} to {} with {}: {:.{}f}x the size takes {} the time, where the pace before "
        "and after it gives {} and {}{}\n",
        step.falls() ? "Fall" : "Step", readable_bytes(step.from.size),
        readable_bytes(step.to.size), variant, size, size == std::round(size) ? 0 : 2,
        times(step.to.time.value / step.from.time.value), times(step.pace_before),
        times(step.pace_after),
        plan_change(step.from.plan, step.to.plan, curve.definition().kernel));
  }
  return text;
}

/// For a curve of our own kernel a sentence and a table: how many times longer NCCL's operation, or
/// the copy engine, took at each size, with the interval of ratio_of_cases(), for each variant that
/// has right data of both. Empty for other curves, and where there is no such size.
std::string kernel_table(const Curve& curve) {
  using Alignment = Table::Alignment;
  std::vector<Table::Column> columns{{"Size", Alignment::right}};
  for (const std::string& variant : curve.variants) {
    columns.push_back({variant, Alignment::right, true});
    columns.push_back({"95 % CI", Alignment::right, true});
  }
  Table table(columns);
  bool any = false;
  for (const CaseSummary* each : curve.cases) {
    std::vector<std::string> cells{readable_bytes(each->definition().size)};
    for (const std::string& variant : curve.variants) {
      const VariantSummary* own = each->find(variant);
      const bool known = own != nullptr && own->library_ratio;
      const RatioText text = known ? readable_ratio(*own->library_ratio) : RatioText{};
      cells.push_back(text.estimate);
      cells.push_back(text.low ? interval_cell(text) : "");
      any = any || known;
    }
    table.add_row(cells);
  }
  if (!any) return {};
  return fmt::format("\n{}:\n\n{}",
                     is_copy(curve.definition().operation)
                         ? "By kernel, times as fast as by copy engine"
                         : "NCCL leaves (its time over the kernel's)",
                     table.markdown());
}

}  // namespace

std::string size_tables(const RunSummary& summary) {
  std::string text;
  bool compares = false;
  for (const Curve& curve : summary.curves_by_size) {
    RowLabels rows;
    for (const CaseSummary* each : curve.cases) {
      rows.labels.push_back(readable_bytes(each->definition().size));
      compares = compares || !each->result->ratios.empty();
    }
    rows.items = step_lines(curve);
    text += fmt::format("{}### {}\n\n{}{}", text.empty() ? "" : "\n", curve.name,
                        case_table(summary, curve, rows), kernel_table(curve));
  }
  if (compares) {
    text += "\nSpeed-ups are estimated round by round, not from the two medians beside them.\n";
  }
  return text;
}

}  // namespace linkgain
