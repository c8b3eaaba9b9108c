#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "linkgain/tables/text_lines.hpp"

namespace linkgain {

/// Of a row.
using Cells = std::vector<std::string>;

inline void append_cells(Cells& cells, const Cells& more) {
  cells.insert(cells.end(), more.begin(), more.end());
}

/// Columns of cells, for a terminal or for Markdown.
class Table {
 public:
  enum class Alignment { left, right };
  struct Column {
    std::string title;
    Alignment alignment = Alignment::left;
    bool needs_values = false;  ///< left out of Markdown where every cell is empty
    /// On a terminal that is too narrow, columns are left out in ascending order of this; 0: never.
    int leave_out = 0;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Cells that lack at the end are empty; line breaks within a cell become spaces.
  void add_row(Cells cells);

  /// For a terminal: two blanks in front and between, nothing at the end of a line. Titles, unless
  /// all are empty, and rows, each ended by a newline.
  std::string text() const;
  /// Whether texts of the first column are cut where leaving columns out is not enough.
  enum class FirstColumn { whole, cut };
  /// The same within so many characters, as far as columns may be left out.
  std::string text(std::size_t width, FirstColumn first_column = FirstColumn::whole) const;

  /// Columns line up in the raw text too, and bars within a cell are made harmless. Header,
  /// separator and rows, each ended by a newline.
  std::string markdown() const;

  /// Characters of the widest cell of a column, its title's included, on a terminal.
  std::size_t width(std::size_t column) const;

 private:
  void cut_first_column(std::size_t too_wide);

  std::vector<Column> columns_;
  std::vector<Cells> rows_;
};

inline constexpr auto kRight = Table::Alignment::right;

/// Collects what the marks of one table mean; each is explained once, in order of appearance.
class Footnotes {
 public:
  struct Note {
    std::string symbol;
    std::string meaning;
  };

  /// A mark of a fixed meaning.
  std::string mark(const std::string& symbol, const std::string& meaning);

  /// "(1)": a number for a text of its own; the same text keeps its number.
  std::string number(const std::string& meaning);

  /// "? [1]" in the place of what is not known for a reason.
  std::string unknown(const std::string& reason);

  const std::vector<Note>& all() const { return notes_; }

  /// A paragraph for each, for a terminal: "  [1] not known: ...", or nothing.
  std::string text(std::size_t width) const;

  /// One Markdown item for each, or nothing.
  std::string markdown() const;

 private:
  std::vector<Note> notes_;
  int numbered_ = 0;
};

/// Whether tables are for a terminal or for Markdown.
enum class TableStyle { text, markdown };

/// Sections and tables that are the same for a terminal and in Markdown.
class StyledText {
 public:
  /// On a terminal no line but a command's is longer than `width`, as far as tables can be broken.
  explicit StyledText(TableStyle style, std::size_t width = kTerminalColumns)
      : style_(style),
        width_(std::min(width, kTerminalColumns)),
        is_narrow_(width < kTerminalColumns) {}

  /// A section's title, with a blank line before it unless it is the first thing.
  void heading(const std::string& title);
  /// A line of its own between blank lines, broken where a terminal ends.
  void paragraph(const std::string& text);
  /// One line of a list; `more`, unless empty, goes on the next line.
  void item(const std::string& text, const std::string& more = {});

  struct Column {
    std::string title;
    bool right = false;  ///< aligned to the right
    int leave_out = 0;   ///< on a narrow terminal the lowest first, 0 never
  };
  void table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows);
  /// The same with reasons in the last column, which is left out where there are none. On a
  /// terminal, reasons that would make a line too long stand below the table, by number.
  void table_with_reasons(std::vector<Column> columns, std::vector<std::vector<std::string>> rows);
  /// A line to be copied: never broken.
  void command(const std::string& text);

  TableStyle style() const { return style_; }
  std::size_t width() const { return width_; }
  const std::string& text() const { return text_; }

 private:
  void separate();
  void begin_item();

  TableStyle style_;
  std::size_t width_;
  bool is_narrow_;
  std::string text_;
  bool in_list_ = false;
};

/// So many rows that say the same become one.
inline constexpr int kFewestAlike = 3;

/// Items in their order; those of the same `key`, where there are kFewestAlike of them or more,
/// together in the place of the first. An empty key keeps an item alone.
template <typename Item, typename Key>
std::vector<std::vector<const Item*>> grouped(const std::vector<const Item*>& items, Key key) {
  std::map<std::string, int> counts;
  for (const Item* item : items) ++counts[key(*item)];
  std::map<std::string, std::size_t> places;
  std::vector<std::vector<const Item*>> groups;
  for (const Item* item : items) {
    const std::string own = key(*item);
    const bool alone = own.empty() || counts[own] < kFewestAlike;
    const auto [place, added] =
        alone ? std::pair{places.end(), true} : places.try_emplace(own, groups.size());
    if (added) groups.emplace_back();
    groups.at(added ? groups.size() - 1 : place->second).push_back(item);
  }
  return groups;
}

}  // namespace linkgain
