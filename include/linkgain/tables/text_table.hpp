#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace linkgain {

/// Columns of text for a terminal: two blanks in front and between, nothing at the end of a line.
class TextTable {
 public:
  enum class Alignment { left, right };
  struct Column {
    std::string title;
    Alignment alignment = Alignment::left;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Cells that lack at the end are empty.
  void add_row(std::vector<std::string> cells);

  /// Titles, unless all are empty, and rows, each ended by a newline.
  std::string text() const;

  /// Characters of the widest cell of a column, its title's included.
  std::size_t width(std::size_t column) const;

 private:
  std::string line(const std::vector<std::string>& cells) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Reasons that tables refer to by number.
class Notes {
 public:
  /// "? [1]", with the same number for the same reason.
  std::string mark(const std::string& reason);
  /// "  [1] not known: ..." each on a line.
  std::string text() const;

 private:
  std::vector<std::string> reasons_;
};

}  // namespace linkgain
