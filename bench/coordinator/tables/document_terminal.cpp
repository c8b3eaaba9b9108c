#include <fmt/format.h>

#include <algorithm>

#include "linkgain/base/text.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {
namespace {

/// The columns of a table as strings, in which colours are.
struct Columns {
  std::vector<Table::Column> heads;
  std::vector<std::vector<std::string>> texts;  ///< by column, then by row

  std::size_t width(std::size_t column) const {
    std::size_t widest = display_width(heads[column].title);
    for (const std::string& text : texts[column]) widest = std::max(widest, display_width(text));
    return widest;
  }
  /// Counts two blanks before each.
  std::size_t width() const {
    std::size_t all = 0;
    for (std::size_t i = 0; i < heads.size(); ++i) all += 2 + width(i);
    return all;
  }
  void erase(std::size_t column) {
    heads.erase(heads.begin() + static_cast<std::ptrdiff_t>(column));
    texts.erase(texts.begin() + static_cast<std::ptrdiff_t>(column));
  }
};

class TerminalBlocks {
 public:
  explicit TerminalBlocks(const ScreenStyle& style)
      : style_(style), prose_(std::min(style.columns, kTerminalColumns)) {}

  std::string operator()(const Document::Heading& heading) const {
    return line_of(heading.text) + "\n";
  }
  std::string operator()(const Document::Paragraph& paragraph) const {
    return hanging("", line_of(paragraph.text), prose_);
  }
  std::string operator()(const Document::List& list) const {
    std::string text;
    for (const Document::Item& item : list.items) {
      text += hanging("  - ", line_of(item.text), prose_);
      if (!item.more.empty()) text += hanging("    ", line_of(item.more), prose_);
      for (const Text& each : item.below) text += hanging("    - ", line_of(each), prose_);
    }
    return text;
  }
  std::string operator()(const Table& table) const;
  std::string operator()(const Document::Code& code) const { return shown_lines(code.lines); }
  std::string operator()(const Document::Figure&) const { return {}; }

 private:
  std::string line_of(const Text& text) const {
    std::string line;
    for (const Text::Run& run : text.runs()) {
      line += painted(shown_line(run.text), run.tone, style_);
    }
    return is_command(text.plain()) ? "'" + line : line;
  }

  Columns columns_of(const Table& table) const {
    Columns columns;
    for (std::size_t i = 0; i < table.columns().size(); ++i) {
      if (table.is_left_out(i)) continue;
      columns.heads.push_back(table.columns()[i]);
      columns.heads.back().title = line_of(columns.heads.back().title);
      std::vector<std::string>& texts = columns.texts.emplace_back();
      for (const Cells& row : table.rows()) texts.push_back(line_of(row[i]));
    }
    return columns;
  }

  /// Puts numbers in the place of texts that are to stand below the table.
  Footnotes shorten(Columns& columns) const {
    Footnotes notes;
    std::size_t used = 2;  // in front of the column
    for (std::size_t i = 0; i < columns.heads.size(); ++i) {
      if (columns.heads[i].too_long == Table::TooLong::below) {
        for (std::string& text : columns.texts[i]) {
          if (!text.empty() && used + display_width(text) > prose_) text = notes.number(text);
        }
      }
      used += 2 + columns.width(i);
    }
    return notes;
  }

  void fit(Columns& columns) const {
    while (columns.width() > style_.columns) {
      std::size_t first = columns.heads.size();
      for (std::size_t i = 0; i < columns.heads.size(); ++i) {
        const int own = columns.heads[i].leave_out;
        const bool sooner = first == columns.heads.size() || own < columns.heads[first].leave_out;
        if (own > 0 && sooner) first = i;
      }
      if (first == columns.heads.size()) break;
      columns.erase(first);
    }
    for (std::size_t i = 0; i < columns.heads.size(); ++i) {
      if (columns.heads[i].too_long != Table::TooLong::cut) continue;
      const std::size_t all = columns.width();
      if (all <= style_.columns) return;
      const std::size_t room = columns.width(i) - std::min(columns.width(i), all - style_.columns);
      columns.heads[i].title = first_columns(columns.heads[i].title, room, "…");
      for (std::string& text : columns.texts[i]) text = first_columns(text, room, "…");
    }
  }

  ScreenStyle style_;
  std::size_t prose_;  ///< columns of sentences
};

std::string aligned(const std::string& text, std::size_t width, Table::Alignment alignment) {
  const std::string space(width - display_width(text), ' ');
  return alignment == kRight ? space + text : text + space;
}

std::string lines_of(const Columns& columns, std::size_t rows) {
  std::vector<std::string> lines(rows + 1);
  for (std::size_t i = 0; i < columns.heads.size(); ++i) {
    const Table::Column& head = columns.heads[i];
    const std::size_t width = columns.width(i);
    lines.front() += "  " + aligned(head.title, width, head.alignment);
    for (std::size_t row = 0; row < rows; ++row) {
      lines[row + 1] += "  " + aligned(columns.texts[i][row], width, head.alignment);
    }
  }
  const bool titled = std::ranges::any_of(
      columns.heads, [](const Table::Column& head) { return !head.title.empty(); });
  if (!titled) lines.erase(lines.begin());
  std::string text;
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string TerminalBlocks::operator()(const Table& table) const {
  Columns columns = columns_of(table);
  const Footnotes notes = shorten(columns);
  fit(columns);
  std::string text =
      table.caption().empty() ? "" : hanging("", line_of(table.caption()) + ":", prose_) + "\n";
  text += lines_of(columns, table.rows().size());
  if (!notes.all().empty()) text += "\n";
  for (const auto& [symbol, meaning] : notes.all()) {
    text += hanging(fmt::format("  {} ", symbol), meaning, prose_);
  }
  return text;
}

/// Tells whether a blank line stands between two blocks: none between a list and the heading, or
/// the sentence, that announces it.
bool are_apart(const Document::Block& block, const Document::Block& next) {
  if (!std::holds_alternative<Document::List>(next)) return true;
  const auto* const paragraph = std::get_if<Document::Paragraph>(&block);
  const bool announces = paragraph != nullptr ? paragraph->text.plain().ends_with(':')
                                              : std::holds_alternative<Document::Heading>(block);
  return !announces;
}

}  // namespace

std::string to_terminal(const Document& document, const ScreenStyle& style) {
  const TerminalBlocks blocks(style);
  std::string text;
  const Document::Block* before = nullptr;
  for (const Document::Block& block : document.blocks()) {
    const std::string own = std::visit(blocks, block);
    if (own.empty()) continue;
    if (before != nullptr && are_apart(*before, block)) text += "\n";
    text += own;
    before = &block;
  }
  return style.utf8 ? text : in_ascii(std::move(text));
}

std::string to_terminal(const Table& table, const ScreenStyle& style) {
  Document document;
  document.table(table);
  return to_terminal(document, style);
}

}  // namespace linkgain
