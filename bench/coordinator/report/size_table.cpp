#include "linkgain/report/size_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

#include "kernel_table.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/find_variant.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "pair_groups.hpp"
#include "size_cells.hpp"
#include "step_lines.hpp"

namespace linkgain {
namespace {

/// The path that a variant took in most rows; absent where it measured none.
using UsualPaths = std::map<std::string, Path>;

UsualPaths usual_paths(const std::vector<const CaseResult*>& cases) {
  std::map<std::string, std::map<Path, int>> counts;
  for (const CaseResult* result : cases) {
    for (const VariantResult& variant : result->variants) {
      if (variant.time) {
        ++counts[variant.variant][variant.path];
      }
    }
  }
  UsualPaths usual;
  for (const auto& [variant, paths] : counts) {
    usual[variant] = std::max_element(paths.begin(), paths.end(), [](const auto& a, const auto& b) {
                       return a.second < b.second;
                     })->first;
  }
  return usual;
}

/// "NVLink with p2p, host memory with host", "host memory with both"; empty where no path is known.
std::string path_legend(const UsualPaths& usual, const std::vector<std::string>& variants) {
  std::vector<std::string> parts;
  bool known = false;
  const bool alike = usual.size() > 1 && std::all_of(usual.begin(), usual.end(), [&](auto& entry) {
                       return entry.second == usual.begin()->second;
                     });
  for (const std::string& variant : variants) {
    const auto path = usual.find(variant);
    if (path == usual.end()) {
      continue;
    }
    known = known || path->second != Path::unknown;
    parts.push_back(fmt::format("{} with {}", readable_path(path->second), variant));
  }
  if (!known) {
    return {};
  }
  return alike ? fmt::format("{} with both", readable_path(usual.begin()->second))
               : fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<Table::Column> columns_for(const Table::Column& title,
                                       const std::vector<std::string>& variants, bool evidence) {
  constexpr auto kRight = Table::Alignment::right;
  std::vector<Table::Column> columns{title};
  for (const std::string& variant : variants) {
    columns.push_back({variant, kRight});
    columns.push_back({"busbw GB/s", kRight, true});
  }
  if (variants.size() > 1) {
    columns.insert(columns.end(),
                   {{"Speed-up", kRight}, {"95 % CI", kRight}, {"Less time", kRight}});
  }
  if (evidence) {
    columns.push_back({"NVLink %", kRight});
  }
  columns.push_back({"Marks", Table::Alignment::left});
  return columns;
}

/// "100.4 / 0": every variant's, in the order of the columns; empty where none is judged.
std::string evidence_cells(const CaseResult& result, const std::vector<std::string>& variants) {
  std::vector<std::string> cells;
  bool judged = false;
  for (const std::string& variant : variants) {
    const std::string cell = evidence_cell(find_variant(result, variant));
    judged = judged || !cell.empty();
    cells.push_back(cell.empty() ? "?" : cell);
  }
  return judged ? fmt::format("{}", fmt::join(cells, " / ")) : std::string{};
}

std::string marks_of(const Record& record, const CaseResult& result,
                     const std::vector<Comparison>& comparisons, const UsualPaths& usual,
                     std::string_view place, Footnotes& footnotes) {
  std::vector<std::string> marks;
  const auto add = [&marks](const std::string& mark) {
    if (!mark.empty() && std::find(marks.begin(), marks.end(), mark) == marks.end()) {
      marks.push_back(mark);
    }
  };
  add(case_marks(record, result, comparisons, footnotes));
  for (const VariantResult& variant : result.variants) {
    for (const std::string& mark : variant_marks(result.definition, variant, footnotes)) {
      add(mark);
    }
    if (variant.time && variant.path != usual.at(variant.variant)) {
      add(footnotes.number(
          fmt::format("path of {} {}: {}", variant.variant, place, readable_path(variant.path))));
    }
  }
  return fmt::format("{}", fmt::join(marks, " "));
}

/// One row for each case, the variants side by side.
std::string table_by_case(const Record& record, const TableRows& rows,
                          const std::vector<std::string>& variants) {
  const bool evidence = any_evidence(rows.cases);
  const UsualPaths usual = usual_paths(rows.cases);
  Table table(columns_for(rows.title, variants, evidence));
  SizeLegend legend;
  for (std::size_t i = 0; i < rows.cases.size(); ++i) {
    const CaseResult& result = *rows.cases[i];
    std::vector<std::string> cells{rows.labels[i]};
    const auto append = [&cells](const std::vector<std::string>& more) {
      cells.insert(cells.end(), more.begin(), more.end());
    };
    for (const std::string& variant : variants) {
      append(time_cells(result.definition, find_variant(result, variant), legend));
    }
    const std::vector<Comparison> comparisons = compare_variants(record, result);
    if (variants.size() > 1) {
      append(
          ratio_cells(comparisons.empty() ? Comparison{} : comparisons.front(), legend.footnotes));
    }
    if (evidence) {
      cells.push_back(evidence_cells(result, variants));
    }
    cells.push_back(marks_of(record, result, comparisons, usual, rows.place, legend.footnotes));
    table.add_row(cells);
  }
  const std::string order = evidence ? fmt::format(": {}", fmt::join(variants, " / ")) : "";
  return table.markdown() + column_legend(rows.items, legend, order, path_legend(usual, variants));
}

TableRows rows_of(const Record& record, const Curve& curve) {
  TableRows rows;
  rows.cases = curve.cases;
  for (const CaseResult* result : curve.cases) {
    rows.labels.push_back(readable_bytes(result->definition.size));
  }
  rows.items = step_lines(record, curve);
  return rows;
}

}  // namespace

std::string rows_table(const Record& record, const TableRows& rows) {
  const std::vector<std::string> variants = variant_names(rows.cases);
  return variants.size() > 2 ? table_by_variant(record, rows)
                             : table_by_case(record, rows, variants);
}

std::string size_tables(const Record& record) {
  std::string text;
  bool compares = false;
  for (const Curve& curve : curves_by_size(record)) {
    text += fmt::format("{}### {}\n\n{}", text.empty() ? "" : "\n", curve.name,
                        rows_table(record, rows_of(record, curve))) +
            kernel_table(record, curve);
    compares = compares || std::any_of(curve.cases.begin(), curve.cases.end(),
                                       [](const auto* result) { return !result->ratios.empty(); });
  }
  if (compares) {
    text += "\nSpeed-ups are estimated round by round, not from the two medians beside them.\n";
  }
  return text;
}

}  // namespace linkgain
