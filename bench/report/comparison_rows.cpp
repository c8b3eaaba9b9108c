#include "comparison_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "alike.hpp"

namespace linkgain {
namespace {

using Cells = std::vector<std::string>;

std::string alike_key(const CaseRow& row) {
  return row.foldable ? fmt::format("{}\n{}\n{}", name_of(row.verdict), row.variant, row.reason)
                      : std::string();
}

/// Values between what is before and after them.
Cells cells_of(const std::string& label, const CaseRow& row, const Cells& values,
               const std::string& reason) {
  Cells cells{label, row.variant};
  cells.insert(cells.end(), values.begin(), values.end());
  cells.insert(cells.end(), {std::string(name_of(row.verdict)), reason});
  return cells;
}

/// In the place of several rows that say the same.
Cells cells_of_several(const std::vector<const CaseRow*>& rows) {
  const CaseRow& first = *rows.front();
  std::vector<std::string> labels;
  for (const CaseRow* row : rows) labels.push_back(row->label);
  return cells_of(fmt::format("{} cases", rows.size()), first, Cells(first.values.size()),
                  fmt::format("{}: {}", first.reason, first_few(labels)));
}

}  // namespace

void add_case_table(StyledText& text, const std::vector<StyledText::Column>& columns,
                    const std::vector<CaseRow>& rows) {
  std::vector<const CaseRow*> all;
  for (const CaseRow& row : rows) all.push_back(&row);
  std::vector<Cells> cells;
  for (const auto& alike : grouped(all, alike_key)) {
    const CaseRow& row = *alike.front();
    cells.push_back(alike.size() > 1 ? cells_of_several(alike)
                                     : cells_of(row.label, row, row.values, row.reason));
  }
  std::vector<StyledText::Column> titles{{"Case"}, {"Variant"}};
  titles.insert(titles.end(), columns.begin(), columns.end());
  titles.insert(titles.end(), {{"Verdict"}, {"Why"}});
  const bool variants = std::any_of(rows.begin(), rows.end(),
                                    [](const CaseRow& row) { return !row.variant.empty(); });
  if (!variants) {
    titles.erase(titles.begin() + 1);
    for (Cells& row : cells) row.erase(row.begin() + 1);
  }
  text.table_with_reasons(titles, cells);
}

}  // namespace linkgain
