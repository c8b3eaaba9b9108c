#include "comparison_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkgain/tables/table.hpp"
#include "linkgain/tables/text_lines.hpp"

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

using Columns = std::vector<StyledText::Column>;

/// With the blanks in front of it.
std::size_t width_of(const Columns& titles, const std::vector<Cells>& rows, std::size_t column) {
  std::size_t widest = display_width(titles[column].title);
  for (const Cells& row : rows) widest = std::max(widest, display_width(row[column]));
  return widest + 2;
}

/// Which columns stand in which table of a terminal: the first `leading` in all of them, verdict
/// and reason, which end the last one, together. One table where names leave too little room.
std::vector<std::vector<std::size_t>> tables_of(const Columns& titles,
                                                const std::vector<Cells>& rows,
                                                std::size_t leading) {
  constexpr std::size_t kFootnote = 6;  // a long reason gives way to its number
  std::vector<std::size_t> first;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < leading; ++i) {
    first.push_back(i);
    taken += width_of(titles, rows, i);
  }
  const std::size_t verdict = titles.size() - 2;
  const bool narrow = taken > kTerminalColumns / 2;
  std::vector<std::vector<std::size_t>> tables{first};
  std::size_t used = taken;
  for (std::size_t i = leading; i <= verdict; ++i) {
    const std::size_t width = width_of(titles, rows, i) + (i == verdict ? kFootnote : 0);
    if (!narrow && used + width > kTerminalColumns && tables.back().size() > leading) {
      tables.push_back(first);
      used = taken;
    }
    tables.back().push_back(i);
    used += width;
  }
  tables.back().push_back(verdict + 1);
  return tables;
}

template <typename Value>
std::vector<Value> picked(const std::vector<Value>& all, const std::vector<std::size_t>& which) {
  std::vector<Value> values;
  for (const std::size_t place : which) values.push_back(all[place]);
  return values;
}

void add_tables(StyledText& text, const Columns& titles, const std::vector<Cells>& rows,
                std::size_t leading) {
  if (text.style() == TableStyle::markdown) {
    text.table_with_reasons(titles, rows);
    return;
  }
  for (const std::vector<std::size_t>& which : tables_of(titles, rows, leading)) {
    std::vector<Cells> own;
    for (const Cells& row : rows) own.push_back(picked(row, which));
    if (which.back() + 1 == titles.size()) {
      text.table_with_reasons(picked(titles, which), own);
    } else {
      text.table(picked(titles, which), own);
    }
  }
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
  Columns titles{{"Case"}, {"Variant"}};
  titles.insert(titles.end(), columns.begin(), columns.end());
  titles.insert(titles.end(), {{"Verdict"}, {"Why"}});
  const bool variants = std::any_of(rows.begin(), rows.end(),
                                    [](const CaseRow& row) { return !row.variant.empty(); });
  if (!variants) {
    titles.erase(titles.begin() + 1);
    for (Cells& row : cells) row.erase(row.begin() + 1);
  }
  add_tables(text, titles, cells, variants ? 2 : 1);
}

}  // namespace linkgain
