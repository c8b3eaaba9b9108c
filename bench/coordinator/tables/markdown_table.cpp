#include "linkgain/tables/markdown_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kNarrowest = 3;  // "--:" is the shortest separator that all readers accept

/// Text that ends no cell.
std::string cell_text(std::string_view text) {
  std::string result;
  for (const char c : one_line(text)) {
    result += c == '|' ? std::string("\\|") : std::string(1, c);
  }
  return result;
}

std::string pad(const std::string& text, std::size_t width, MarkdownTable::Alignment alignment) {
  const std::string space(width - display_width(text), ' ');
  return alignment == MarkdownTable::Alignment::right ? space + text : text + space;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return result;
}

void MarkdownTable::add_row(const std::vector<std::string>& cells) {
  std::vector<std::string> row;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    row.push_back(i < cells.size() ? cell_text(cells[i]) : std::string{});
  }
  rows_.push_back(std::move(row));
}

bool MarkdownTable::is_shown(std::size_t column) const {
  return !columns_[column].needs_values ||
         std::any_of(rows_.begin(), rows_.end(), [column](const std::vector<std::string>& row) {
           return !row[column].empty();
         });
}

std::size_t MarkdownTable::width(std::size_t column) const {
  std::size_t widest = std::max(kNarrowest, display_width(columns_[column].title));
  for (const std::vector<std::string>& row : rows_) {
    widest = std::max(widest, display_width(row[column]));
  }
  return widest;
}

std::string MarkdownTable::text() const {
  std::string header = "|";
  std::string separator = "|";
  std::vector<std::string> lines(rows_.size(), "|");
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!is_shown(i)) {
      continue;
    }
    const std::size_t columns_width = width(i);
    const bool right = columns_[i].alignment == Alignment::right;
    header += fmt::format(" {} |", pad(columns_[i].title, columns_width, Alignment::left));
    separator += fmt::format(" {:->{}}{} |", "", columns_width - (right ? 1 : 0), right ? ":" : "");
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      lines[row] += fmt::format(" {} |", pad(rows_[row][i], columns_width, columns_[i].alignment));
    }
  }
  std::string result = header + "\n" + separator + "\n";
  for (const std::string& line : lines) {
    result += line + "\n";
  }
  return result;
}

}  // namespace linkgain
