#include "linkgain/tables/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kNarrowest = 3;  // "--:" is the shortest separator that all readers accept

/// Text that ends no cell of Markdown.
std::string escape_bars(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '|' ? std::string("\\|") : std::string(1, c);
  }
  return result;
}

std::string pad(const std::string& text, std::size_t width, Table::Alignment alignment) {
  const std::string space(width - display_width(text), ' ');
  return alignment == Table::Alignment::right ? space + text : text + space;
}

bool has_reasons(const Rows& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const std::vector<std::string>& row) { return !row.back().empty(); });
}

Table table_of(const std::vector<StyledText::Column>& columns, const Rows& rows) {
  std::vector<Table::Column> own;
  for (const auto& [title, right, leave_out] : columns) {
    own.push_back({.title = title,
                   .alignment = right ? Table::Alignment::right : Table::Alignment::left,
                   .leave_out = leave_out});
  }
  Table table(own);
  for (const std::vector<std::string>& row : rows) table.add_row(row);
  return table;
}

/// Puts numbers in the place of reasons for which a line has no room.
Footnotes shorten_reasons(const std::vector<StyledText::Column>& columns, Rows& rows,
                          std::size_t width) {
  const Table table = table_of(columns, rows);
  std::size_t used = 2;  // columns of a terminal in front of the last column of the table
  for (std::size_t i = 0; i + 1 < columns.size(); ++i) used += 2 + table.width(i);
  Footnotes footnotes;
  for (std::vector<std::string>& row : rows) {
    if (row.back().empty() || used + display_width(row.back()) <= width) continue;
    row.back() = footnotes.number(one_line(row.back()));
  }
  return footnotes;
}

}  // namespace

void Table::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = one_line(cell);
  rows_.push_back(std::move(cells));
}

std::size_t Table::width(std::size_t column) const {
  std::size_t widest = display_width(columns_[column].title);
  for (const std::vector<std::string>& row : rows_) {
    widest = std::max(widest, display_width(row[column]));
  }
  return widest;
}

std::string Table::text() const {
  std::vector<std::string> lines(rows_.size() + 1);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::size_t columns_width = width(i);
    const auto add = [&](std::string& line, const std::string& cell) {
      line += "  " + pad(cell, columns_width, columns_[i].alignment);
    };
    add(lines.front(), columns_[i].title);
    for (std::size_t row = 0; row < rows_.size(); ++row) add(lines[row + 1], rows_[row][i]);
  }
  const bool titled = std::any_of(columns_.begin(), columns_.end(),
                                  [](const Column& column) { return !column.title.empty(); });
  if (!titled) lines.erase(lines.begin());
  std::string text;
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

void Table::cut_first_column(std::size_t too_wide) {
  const std::size_t room = width(0) - std::min(width(0), too_wide);
  columns_.front().title = first_columns(columns_.front().title, room, "…");
  for (std::vector<std::string>& row : rows_) row.front() = first_columns(row.front(), room, "…");
}

std::string Table::text(std::size_t width, FirstColumn first_column) const {
  Table narrow = *this;
  const auto width_of_all = [&] {
    std::size_t all = 0;
    for (std::size_t i = 0; i < narrow.columns_.size(); ++i) all += 2 + narrow.width(i);
    return all;
  };
  while (width_of_all() > width) {
    auto first = narrow.columns_.end();
    for (auto column = narrow.columns_.begin(); column != narrow.columns_.end(); ++column) {
      if (column->leave_out == 0) continue;
      if (first == narrow.columns_.end() || column->leave_out < first->leave_out) first = column;
    }
    if (first == narrow.columns_.end()) break;
    const auto place = first - narrow.columns_.begin();
    narrow.columns_.erase(first);
    for (std::vector<std::string>& row : narrow.rows_) row.erase(row.begin() + place);
  }
  const std::size_t all = width_of_all();
  if (all > width && first_column == FirstColumn::cut) narrow.cut_first_column(all - width);
  return narrow.text();
}

std::string Table::markdown() const {
  std::string header = "|";
  std::string separator = "|";
  std::vector<std::string> lines(rows_.size(), "|");
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const auto& [title, alignment, needs_values, leave_out] = columns_[i];
    std::vector<std::string> cells;
    for (const std::vector<std::string>& row : rows_)
      cells.push_back(escape_bars(markdown_text(row[i])));
    std::size_t width = 0;
    for (const std::string& cell : cells) width = std::max(width, display_width(cell));
    if (needs_values && width == 0) continue;
    width = std::max({width, kNarrowest, display_width(title)});
    const bool right = alignment == Alignment::right;
    header += fmt::format(" {} |", pad(title, width, Alignment::left));
    separator += fmt::format(" {:->{}}{} |", "", width - (right ? 1 : 0), right ? ":" : "");
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      lines[row] += fmt::format(" {} |", pad(cells[row], width, alignment));
    }
  }
  std::string result = header + "\n" + separator + "\n";
  for (const std::string& line : lines) result += line + "\n";
  return result;
}

std::string Footnotes::mark(const std::string& symbol, const std::string& meaning) {
  const auto known = std::find_if(notes_.begin(), notes_.end(),
                                  [&](const Note& note) { return note.symbol == symbol; });
  if (known == notes_.end()) {
    notes_.push_back({symbol, meaning});
  }
  return symbol;
}

std::string Footnotes::number(const std::string& meaning) {
  const auto known = std::find_if(notes_.begin(), notes_.end(),
                                  [&](const Note& note) { return note.meaning == meaning; });
  if (known != notes_.end()) {
    return known->symbol;
  }
  notes_.push_back({fmt::format("({})", ++numbered_), meaning});
  return notes_.back().symbol;
}

std::string Footnotes::unknown(const std::string& reason) {
  std::string symbol = number("not known: " + one_line(reason));
  symbol.front() = '[';
  symbol.back() = ']';
  return "? " + symbol;
}

std::string Footnotes::text(std::size_t width) const {
  std::string result;
  for (const auto& [symbol, meaning] : notes_) {
    const std::string number = symbol.substr(1, symbol.size() - 2);
    result += hanging(fmt::format("  [{}] ", number), meaning, width);
  }
  return result;
}

std::string Footnotes::markdown() const {
  std::string result;
  for (const auto& [symbol, meaning] : notes_) {
    result += fmt::format("- `{}` {}\n", symbol, markdown_text(meaning));
  }
  return result;
}

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
  text_ += style_ == TableStyle::markdown ? markdown_text(one_line(text)) + "\n"
                                          : hanging("", one_line(text), width_);
}

void StyledText::item(const std::string& text, const std::string& more) {
  const bool markdown = style_ == TableStyle::markdown;
  begin_item();
  if (markdown) {
    text_ += fmt::format("- {}\n", markdown_text(one_line(text)));
  } else {
    text_ += hanging("  - ", one_line(text), width_);
  }
  if (!more.empty()) {
    text_ += markdown ? fmt::format("  {}\n", markdown_text(one_line(more)))
                      : hanging("    ", one_line(more), width_);
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

void StyledText::table(const std::vector<Column>& columns, const Rows& rows) {
  separate();
  const Table table = table_of(columns, rows);
  const bool is_markdown = style_ == TableStyle::markdown;
  text_ += is_markdown ? table.markdown() : is_narrow_ ? table.text(width_) : table.text();
}

void StyledText::table_with_reasons(std::vector<Column> columns, Rows rows) {
  if (!has_reasons(rows)) {
    columns.pop_back();
    for (std::vector<std::string>& row : rows) row.pop_back();
    table(columns, rows);
    return;
  }
  const Footnotes footnotes =
      style_ == TableStyle::text ? shorten_reasons(columns, rows, width_) : Footnotes{};
  table(columns, rows);
  if (footnotes.all().empty()) return;
  text_ += "\n";
  for (const auto& [symbol, meaning] : footnotes.all()) {
    text_ += hanging(fmt::format("  {} ", symbol), meaning, width_);
  }
}

}  // namespace linkgain
