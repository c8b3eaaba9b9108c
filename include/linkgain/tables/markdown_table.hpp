#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace linkgain {

/// A Markdown table whose columns line up in the raw text too.
class MarkdownTable {
 public:
  enum class Alignment { left, right };
  struct Column {
    std::string title;
    Alignment alignment = Alignment::left;
    bool needs_values = false;  ///< left out where every cell is empty
  };

  explicit MarkdownTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell per column. Bars and line breaks within a cell are made harmless.
  void add_row(const std::vector<std::string>& cells);

  /// Header, separator and rows, each ended by a newline.
  std::string text() const;

 private:
  bool is_shown(std::size_t column) const;
  std::size_t width(std::size_t column) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Text that stays within one line: line breaks become spaces.
std::string one_line(std::string_view text);

}  // namespace linkgain
