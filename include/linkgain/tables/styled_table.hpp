#pragma once

#include <string>
#include <vector>

namespace linkgain {

/// Whether tables are for a terminal or for Markdown.
enum class TableStyle { text, markdown };

/// Sections and tables that are the same for a terminal and in Markdown.
class StyledText {
 public:
  explicit StyledText(TableStyle style) : style_(style) {}

  /// A section's title, with a blank line before it unless it is the first thing.
  void heading(const std::string& title);
  /// A line of its own between blank lines, broken where a terminal ends.
  void paragraph(const std::string& text);
  /// One line of a list; `more`, unless empty, goes on the next line.
  void item(const std::string& text, const std::string& more = {});

  struct Column {
    std::string title;
    bool right = false;  ///< aligned to the right
  };
  void table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows);
  /// The same with reasons in the last column, which is left out where there are none. On a
  /// terminal, reasons that would make a line too long stand below the table, by number.
  void table_with_reasons(std::vector<Column> columns, std::vector<std::vector<std::string>> rows);
  /// A line to be copied: never broken.
  void command(const std::string& text);

  TableStyle style() const { return style_; }
  const std::string& text() const { return text_; }

 private:
  void separate();
  void begin_item();

  TableStyle style_;
  std::string text_;
  bool in_list_ = false;
};

}  // namespace linkgain
