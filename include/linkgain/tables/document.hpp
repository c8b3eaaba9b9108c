#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "linkgain/tables/text_lines.hpp"

/// Holds what commands show people, before it has the form of a terminal, of Markdown or of a page.
/// A renderer makes all text harmless, so text of others goes into a document as it is.
namespace linkgain {

/// Words within one line.
class Text {
 public:
  enum class Form { plain, strong, code };
  struct Run {
    std::string text;
    Form form = Form::plain;
    Tone tone = Tone::plain;
  };

  Text() = default;
  Text(std::string text) : Text(Run{std::move(text)}) {}    // NOLINT: is text
  Text(std::string_view text) : Text(std::string(text)) {}  // NOLINT: is text
  Text(const char* text) : Text(std::string(text)) {}       // NOLINT: is text
  Text(Run run);                                            // NOLINT: is text

  Text& operator+=(const Text& more);
  friend Text operator+(Text text, const Text& more) { return text += more; }

  bool empty() const { return runs_.empty(); }
  /// Gives its words alone.
  std::string plain() const;
  const std::vector<Run>& runs() const { return runs_; }

 private:
  std::vector<Run> runs_;  ///< none is empty
};

Text strong(std::string text);
Text code(std::string text);
Text toned(std::string text, Tone tone);

/// Makes code of what stands between backticks, as commands do in our own sentences and advice.
Text with_code(std::string_view sentence);

using Cells = std::vector<Text>;

void append_cells(Cells& cells, const Cells& more);

class Table {
 public:
  enum class Alignment { left, right };
  /// What becomes of a column's texts where a terminal has no room for them.
  enum class TooLong {
    whole,  ///< they stay
    cut,    ///< they end in "…"
    below,  ///< they stand below the table, by number; the column is left out where all are empty
  };
  struct Column {
    std::string title;
    Alignment alignment = Alignment::left;
    bool needs_values = false;  ///< left out where every cell is empty
    /// On a terminal that is too narrow, columns are left out in ascending order of this; 0: never.
    int leave_out = 0;
    TooLong too_long = TooLong::whole;
  };

  /// Takes a caption where the heading above does not say what the table is of.
  explicit Table(std::vector<Column> columns, std::string caption = {})
      : columns_(std::move(columns)), caption_(std::move(caption)) {}

  /// Adds a row, in which cells that lack at the end are empty.
  void add_row(Cells cells);

  const std::string& caption() const { return caption_; }
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<Cells>& rows() const { return rows_; }
  bool is_left_out(std::size_t column) const;

 private:
  std::vector<Column> columns_;
  std::string caption_;
  std::vector<Cells> rows_;
};

/// Lets a narrow terminal leave out columns that have no place of their own in that order, after
/// all others and from the right on; never the first one, whose texts are cut in the end, nor
/// speed-ups.
void leave_out_from_the_right(std::vector<Table::Column>& columns);

inline constexpr auto kRight = Table::Alignment::right;

/// Collects what the marks of one table mean; each is explained once, in order of appearance.
class Footnotes {
 public:
  struct Note {
    std::string symbol;
    std::string meaning;
  };

  /// Gives a mark of a fixed meaning.
  std::string mark(const std::string& symbol, const std::string& meaning);

  /// Gives a number, "(1)", to a text of its own; the same text keeps its number.
  std::string number(const std::string& meaning);

  /// Gives "? [1]" in the place of what is not known for a reason.
  std::string unknown(const std::string& reason);

  const std::vector<Note>& all() const { return notes_; }

 private:
  std::vector<Note> notes_;
  int numbered_ = 0;
};

/// Holds blocks, one below the other.
class Document {
 public:
  struct Heading {
    int level = 2;  ///< 1 is the title's
    Text text;
  };
  struct Paragraph {
    Text text;
  };
  struct Item {
    Text text;
    Text more{};                ///< on a line of its own, as the advice of a warning
    std::vector<Text> below{};  ///< a list within the list
  };
  struct List {
    std::vector<Item> items;
  };
  /// Lines of shell to be copied, which nothing breaks.
  struct Code {
    std::string lines;  ///< each ended by a newline
  };
  /// A picture, which a page alone shows.
  struct Figure {
    std::string html;
  };
  using Block = std::variant<Heading, Paragraph, List, Table, Code, Figure>;

  void title(Text text) { blocks_.emplace_back(Heading{1, std::move(text)}); }
  void heading(Text text, int level = 2) { blocks_.emplace_back(Heading{level, std::move(text)}); }
  void paragraph(Text text) { blocks_.emplace_back(Paragraph{std::move(text)}); }
  /// Adds to the list that the document ends with, or begins one.
  void item(Item item);
  void item(Text text) { item(Item{std::move(text)}); }
  void notes(const Footnotes& footnotes);
  void table(Table table) { blocks_.emplace_back(std::move(table)); }
  void code(std::string lines);
  void figure(std::string html);
  void add(const Document& more);

  bool empty() const { return blocks_.empty(); }
  const std::vector<Block>& blocks() const { return blocks_; }

 private:
  std::vector<Block> blocks_;
};

/// Breaks text between words for a terminal, leaves columns of tables out until they fit, and keeps
/// code whole.
std::string to_terminal(const Document& document,
                        const ScreenStyle& style = {.columns = kAnyColumns});
std::string to_terminal(const Table& table, const ScreenStyle& style = {.columns = kAnyColumns});

/// Makes Markdown that also reads well as it is: columns line up.
std::string to_markdown(const Document& document);
std::string to_markdown(const Table& table);

/// So many rows that say the same become one.
inline constexpr int kFewestAlike = 3;

/// Keeps items in their order; puts those of the same `key`, where there are kFewestAlike of them
/// or more, together in the place of the first. An empty key keeps an item alone.
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
