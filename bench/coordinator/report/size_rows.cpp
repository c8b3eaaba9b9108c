#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "size_cells.hpp"

namespace linkgain {
namespace {

std::vector<Table::Column> columns(const Table::Column& title, bool evidence) {
  constexpr auto kRight = Table::Alignment::right;
  std::vector<Table::Column> all{
      title, {"Variant"}, {"Time", kRight}, {"busbw GB/s", kRight, true}, {"Path"}};
  if (evidence) {
    all.push_back({"NVLink %", kRight});
  }
  all.insert(all.end(),
             {{"Speed-up", kRight}, {"95 % CI", kRight}, {"Less time", kRight}, {"Marks"}});
  return all;
}

Comparison comparison_with(const std::vector<Comparison>& comparisons,
                           const VariantResult& variant) {
  const auto found = std::find_if(comparisons.begin(), comparisons.end(),
                                  [&](const Comparison& entry) { return entry.other == &variant; });
  return found == comparisons.end() ? Comparison{} : *found;
}

void add_rows(Table& table, const Record& record, const CaseResult& result,
              const std::string& label, bool evidence, SizeLegend& legend) {
  const std::vector<Comparison> comparisons = compare_variants(record, result);
  for (const VariantResult& variant : result.variants) {
    const bool first = &variant == &result.variants.front();
    std::vector<std::string> cells{first ? label : "", variant.variant};
    const auto append = [&cells](const std::vector<std::string>& more) {
      cells.insert(cells.end(), more.begin(), more.end());
    };
    append(time_cells(result.definition, &variant, legend));
    cells.emplace_back(variant.time ? readable_path(variant.path) : std::string_view{});
    if (evidence) {
      cells.push_back(evidence_cell(&variant));
    }
    append(ratio_cells(comparison_with(comparisons, variant), legend.footnotes));
    std::vector<std::string> marks = variant_marks(result.definition, variant, legend.footnotes);
    if (first) {
      const std::string mark = case_marks(record, result, comparisons, legend.footnotes);
      marks.insert(marks.begin(), mark.empty() ? 0U : 1U, mark);
    }
    cells.push_back(fmt::format("{}", fmt::join(marks, " ")));
    table.add_row(cells);
  }
}

}  // namespace

std::string table_by_variant(const Record& record, const TableRows& rows) {
  const bool evidence = any_evidence(rows.cases);
  Table table(columns(rows.title, evidence));
  SizeLegend legend;
  for (std::size_t i = 0; i < rows.cases.size(); ++i) {
    add_rows(table, record, *rows.cases[i], rows.labels[i], evidence, legend);
  }
  const std::string legend_text =
      column_legend(rows.items, legend, evidence ? "; empty where it is not judged" : "", "");
  return fmt::format("{}{}- Speed-up and less time: {} against the row's variant\n",
                     table.markdown(), legend_text.empty() ? "\n" : legend_text,
                     variant_names(rows.cases).front());
}

}  // namespace linkgain
