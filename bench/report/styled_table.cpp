#include "styled_table.hpp"

#include <fmt/format.h>

#include "markdown_table.hpp"
#include "text_table.hpp"

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
  text_ += one_line(text) + "\n";
}

void StyledText::item(const std::string& text, const std::string& more) {
  const bool markdown = style_ == TableStyle::markdown;
  if (markdown && !in_list_) {
    separate();
  }
  in_list_ = true;
  text_ += fmt::format("{}- {}\n", markdown ? "" : "  ", one_line(text));
  if (!more.empty()) {
    text_ += fmt::format("{}{}\n", markdown ? "  " : "    ", one_line(more));
  }
}

void StyledText::table(const std::vector<Column>& columns,
                       const std::vector<std::vector<std::string>>& rows) {
  separate();
  text_ += style_ == TableStyle::markdown ? table_text<MarkdownTable>(columns, rows)
                                          : table_text<TextTable>(columns, rows);
}

}  // namespace linkgain
