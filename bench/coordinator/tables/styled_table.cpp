#include "linkgain/tables/styled_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkgain/tables/footnotes.hpp"
#include "linkgain/tables/markdown_table.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "linkgain/tables/text_table.hpp"

namespace linkgain {
namespace {

/// The two kinds of table differ in nothing but their type.
template <typename Table>
std::string table_text(const std::vector<StyledText::Column>& columns,
                       const std::vector<std::vector<std::string>>& rows) {
  std::vector<typename Table::Column> own;
  for (const StyledText::Column& column : columns) {
    own.push_back({column.title, column.right ? Table::Alignment::right : Table::Alignment::left});
  }
  Table table(own);
  for (const std::vector<std::string>& row : rows) {
    table.add_row(row);
  }
  return table.text();
}

using Rows = std::vector<std::vector<std::string>>;

bool has_reasons(const Rows& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const std::vector<std::string>& row) { return !row.back().empty(); });
}

/// Columns of a terminal in front of the last column of the table.
std::size_t columns_before_last(const std::vector<StyledText::Column>& columns, const Rows& rows) {
  std::vector<TextTable::Column> own;
  for (const StyledText::Column& column : columns) own.push_back({column.title});
  TextTable table(own);
  for (const std::vector<std::string>& row : rows) table.add_row(row);
  std::size_t used = 0;
  for (std::size_t i = 0; i + 1 < columns.size(); ++i) used += 2 + table.width(i);
  return used + 2;
}

/// Puts numbers in the place of reasons for which a line has no room.
Footnotes shorten_reasons(const std::vector<StyledText::Column>& columns, Rows& rows) {
  const std::size_t used = columns_before_last(columns, rows);
  Footnotes footnotes;
  for (std::vector<std::string>& row : rows) {
    if (used + display_width(row.back()) <= kTerminalColumns) continue;
    row.back() = footnotes.number(one_line(row.back()));
  }
  return footnotes;
}

}  // namespace

void StyledText::separate() {
  in_list_ = false;
  if (!text_.empty()) {
    text_ += "\n";
  }
}

void StyledText::heading(const std::string& title) {
  separate();
  text_ += style_ == TableStyle::markdown ? fmt::format("## {}\n", title) : title + "\n";
}

void StyledText::paragraph(const std::string& text) {
  separate();
  text_ += style_ == TableStyle::markdown ? one_line(text) + "\n" : hanging("", one_line(text));
}

void StyledText::item(const std::string& text, const std::string& more) {
  const bool markdown = style_ == TableStyle::markdown;
  begin_item();
  if (markdown) {
    text_ += fmt::format("- {}\n", one_line(text));
  } else {
    text_ += hanging("  - ", one_line(text));
  }
  if (!more.empty()) {
    text_ += markdown ? fmt::format("  {}\n", one_line(more)) : hanging("    ", one_line(more));
  }
}

void StyledText::command(const std::string& text) {
  begin_item();
  text_ += fmt::format("{}- {}\n", style_ == TableStyle::markdown ? "" : "  ", one_line(text));
}

void StyledText::begin_item() {
  if (style_ == TableStyle::markdown && !in_list_) {
    separate();
  }
  in_list_ = true;
}

void StyledText::table(const std::vector<Column>& columns,
                       const std::vector<std::vector<std::string>>& rows) {
  separate();
  text_ += style_ == TableStyle::markdown ? table_text<MarkdownTable>(columns, rows)
                                          : table_text<TextTable>(columns, rows);
}

void StyledText::table_with_reasons(std::vector<Column> columns, Rows rows) {
  if (!has_reasons(rows)) {
    columns.pop_back();
    for (std::vector<std::string>& row : rows) row.pop_back();
    table(columns, rows);
    return;
  }
  const Footnotes footnotes =
      style_ == TableStyle::text ? shorten_reasons(columns, rows) : Footnotes{};
  table(columns, rows);
  if (footnotes.all().empty()) return;
  text_ += "\n";
  for (const auto& [symbol, meaning] : footnotes.all()) {
    text_ += hanging(fmt::format("  {} ", symbol), meaning);
  }
}

}  // namespace linkgain
