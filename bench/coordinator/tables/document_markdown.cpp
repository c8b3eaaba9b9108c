#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "linkgain/base/text.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kNarrowest = 3;  // "--:" is the shortest separator that all readers accept

/// Tells whether a "<" begins one of HTML's tags or comments, or a link, by what follows it; that
/// of
/// "<0.01" does not.
bool begins_tag(std::string_view rest) {
  if (rest.empty()) return false;
  return std::isalpha(static_cast<unsigned char>(rest.front())) != 0 ||
         std::string_view("/!?").find(rest.front()) != std::string_view::npos;
}

std::size_t longest_run(std::string_view text, char c) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char each : text) {
    run = each == c ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

/// Makes text that is neither HTML nor a link or a picture.
std::string markdown_text(std::string_view text) {
  std::string result;
  bool escaped = false;  // by a backslash of its own, which another one before it would take away
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool opens =
        text[i] == '<' ? begins_tag(text.substr(i + 1)) : text[i] == '(' && result.ends_with(']');
    if (opens && !escaped) result += '\\';
    escaped = text[i] == '\\' && !escaped;
    result += text[i];
  }
  return result;
}

/// Makes code of it, whatever backticks are in it.
std::string markdown_code(std::string_view text) {
  const std::string fence(longest_run(text, '`') + 1, '`');
  const std::string_view space = fence.size() > 1 ? " " : "";
  return fmt::format("{0}{1}{2}{1}{0}", fence, space, text);
}

/// Makes a block of lines of shell, ended by a newline, that nothing in them ends.
std::string markdown_shell(std::string_view lines) {
  const std::string fence(std::max<std::size_t>(3, longest_run(lines, '`') + 1), '`');
  return fmt::format("{0}sh\n{1}{0}\n", fence, lines);
}

std::string run_text(const Text::Run& run) {
  const std::string text = shown_line(run.text);
  switch (run.form) {
    case Text::Form::plain:
      return markdown_text(text);
    case Text::Form::strong:
      return fmt::format("**{}**", markdown_text(text));
    case Text::Form::code:
      return markdown_code(text);
  }
  return {};
}

std::string line_of(const Text& text) {
  std::string line;
  for (const Text::Run& run : text.runs()) line += run_text(run);
  return one_line(line);
}

/// Makes text that ends no cell.
std::string cell_of(const Text& text) {
  std::string cell;
  for (const char c : line_of(text)) cell += c == '|' ? std::string("\\|") : std::string(1, c);
  return cell;
}

std::string padded(const std::string& text, std::size_t width, Table::Alignment alignment) {
  const std::string space(width - display_width(text), ' ');
  return alignment == kRight ? space + text : text + space;
}

struct MarkdownBlocks {
  std::string operator()(const Document::Heading& heading) const {
    return fmt::format("{} {}\n", std::string(static_cast<std::size_t>(heading.level), '#'),
                       line_of(heading.text));
  }
  std::string operator()(const Document::Paragraph& paragraph) const {
    return line_of(paragraph.text) + "\n";
  }
  std::string operator()(const Document::List& list) const {
    std::string text;
    for (const Document::Item& item : list.items) {
      text += fmt::format("- {}\n", line_of(item.text));
      if (!item.more.empty()) text += fmt::format("  {}\n", line_of(item.more));
      for (const Text& each : item.below) text += fmt::format("  - {}\n", line_of(each));
    }
    return text;
  }
  std::string operator()(const Table& table) const { return to_markdown(table); }
  std::string operator()(const Document::Code& code) const {
    return markdown_shell(shown_lines(code.lines));
  }
  std::string operator()(const Document::Figure&) const { return {}; }
};

}  // namespace

std::string to_markdown(const Table& table) {
  std::string header = "|";
  std::string separator = "|";
  std::vector<std::string> lines(table.rows().size(), "|");
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const Table::Column& column = table.columns()[i];
    if (table.is_left_out(i)) continue;
    std::vector<std::string> cells;
    const std::string title = cell_of(column.title);
    std::size_t width = std::max(kNarrowest, display_width(title));
    for (const Cells& row : table.rows()) {
      cells.push_back(cell_of(row[i]));
      width = std::max(width, display_width(cells.back()));
    }
    const bool right = column.alignment == kRight;
    header += fmt::format(" {} |", padded(title, width, Table::Alignment::left));
    separator += fmt::format(" {:->{}}{} |", "", width - (right ? 1 : 0), right ? ":" : "");
    for (std::size_t row = 0; row < lines.size(); ++row) {
      lines[row] += fmt::format(" {} |", padded(cells[row], width, column.alignment));
    }
  }
  std::string text = table.caption().empty() ? "" : line_of(table.caption()) + ":\n\n";
  text += header + "\n" + separator + "\n";
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string to_markdown(const Document& document) {
  std::string text;
  for (const Document::Block& block : document.blocks()) {
    const std::string own = std::visit(MarkdownBlocks{}, block);
    if (!text.empty() && !own.empty()) text += "\n";
    text += own;
  }
  return text;
}

}  // namespace linkgain
