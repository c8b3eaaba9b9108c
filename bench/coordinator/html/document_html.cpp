#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <regex>
#include <string_view>

#include "linkgain/base/text.hpp"
#include "linkgain/html/page.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

/// Lets a line break behind each slash of a name of a case, so that it keeps its words in a narrow
/// column; "GB/s" stays whole.
std::string with_breaks(const std::string& html) {
  constexpr std::size_t kShortestName = 16;
  std::vector<std::string> words = split(html, ' ');
  for (std::string& word : words) {
    if (word.size() < kShortestName) continue;
    word = fmt::format("{}", fmt::join(split(word, '/'), "/<wbr/>"));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

/// Keeps a number with its unit, and the ends of a pair, "0->1", in one line.
std::string without_breaks(const std::string& html) {
  static const std::regex kUnit("([0-9]) (%|[KMGT]i?B|B|[num]?s|MHz|W|°C)(?![A-Za-z])");
  static const std::regex kArrow("-&gt;");
  return std::regex_replace(std::regex_replace(html, kUnit, "$1&#160;$2"), kArrow, "-&#8288;&gt;");
}

std::string formed(const Text::Run& run) {
  const std::string html = xml_escaped(shown_line(run.text));
  switch (run.form) {
    case Text::Form::plain:
      return without_breaks(with_breaks(html));
    case Text::Form::strong:
      return fmt::format("<strong>{}</strong>", without_breaks(html));
    case Text::Form::code:
      return fmt::format("<code>{}</code>", with_breaks(html));
  }
  return {};
}

/// Gives what is not plain a class of its own, whose colour says no more than the words.
std::string run_html(const Text::Run& run) {
  constexpr std::array<std::string_view, 4> kClasses{"", "good", "doubtful", "bad"};
  if (run.tone == Tone::plain) return formed(run);
  return fmt::format("<span class=\"{}\">{}</span>", kClasses[static_cast<std::size_t>(run.tone)],
                     formed(run));
}

std::string text_html(const Text& text) {
  std::string html;
  for (const Text::Run& run : text.runs()) html += run_html(run);
  return html;
}

/// Writes a table whose caption, where the table has none of its own, the heading above it says.
std::string table_html(const Table& table, std::string_view caption, bool is_said);

struct HtmlBlocks {
  std::string caption;   ///< of tables that have none of their own
  bool is_said = false;  ///< by a heading, so that only those who hear the page need it again

  std::string operator()(const Document::Heading& heading) {
    caption = heading.text.plain();
    is_said = true;
    return fmt::format("<h{0}>{1}</h{0}>\n", heading.level, text_html(heading.text));
  }
  std::string operator()(const Document::Paragraph& paragraph) const {
    return fmt::format("<p>{}</p>\n", text_html(paragraph.text));
  }
  std::string operator()(const Document::List& list) const {
    std::string html = "<ul>\n";
    for (const Document::Item& item : list.items) {
      html += "<li>" + text_html(item.text);
      if (!item.more.empty()) html += "<br/>" + text_html(item.more);
      if (!item.below.empty()) html += "\n<ul>\n";
      for (const Text& each : item.below) html += fmt::format("<li>{}</li>\n", text_html(each));
      html += item.below.empty() ? "</li>\n" : "</ul>\n</li>\n";
    }
    return html + "</ul>\n";
  }
  std::string operator()(const Table& table) const { return table_html(table, caption, is_said); }
  std::string operator()(const Document::Code& code) const {
    return fmt::format("<pre tabindex=\"0\"><code>{}</code></pre>\n",
                       xml_escaped(shown_lines(code.lines)));
  }
  std::string operator()(const Document::Figure& figure) const { return figure.html; }
};

/// Makes "what-changed" of "What changed".
std::string id_of(std::string_view name) {
  std::string id;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter || (c >= 'A' && c <= 'Z')) {
      id += letter ? c : static_cast<char>(c - 'A' + 'a');
    } else if (!id.empty() && id.back() != '-') {
      id += '-';
    }
  }
  return id;
}

std::string table_html(const Table& table, std::string_view caption, bool is_said) {
  std::string head;
  std::vector<std::string> rows(table.rows().size());
  bool is_first = true;  // of the columns that are there, whose cells name their rows
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const Table::Column& column = table.columns()[i];
    const bool is_empty = !rows.empty() && std::ranges::all_of(table.rows(), [&](const Cells& row) {
      return row[i].empty();
    });
    if (is_empty || table.is_left_out(i)) continue;
    const std::string_view number = column.alignment == kRight ? " class=\"n\"" : "";
    head += column.title.empty() ? "<td></td>"
                                 : fmt::format("<th scope=\"col\"{}>{}</th>", number,
                                               xml_escaped(shown_line(column.title)));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::string html = text_html(table.rows()[row][i]);
      rows[row] += is_first && !html.empty()
                       ? fmt::format("<th scope=\"row\"{}>{}</th>", number, html)
                       : fmt::format("<td{}>{}</td>", number, html);
    }
    is_first = false;
  }
  std::string body;
  for (const std::string& row : rows) body += fmt::format("<tr>{}</tr>\n", row);
  const bool is_own = !table.caption().empty();
  return scrolling_table(shown_line(is_own ? table.caption() : caption), head, body,
                         is_said && !is_own ? "scroll said" : "scroll");
}

}  // namespace

std::string to_html(const Table& table, std::string_view caption) {
  return table_html(table, caption, false);
}

std::string to_html(const Document& document, std::string_view caption) {
  HtmlBlocks blocks{std::string(caption)};
  std::string html;
  for (const Document::Block& block : document.blocks()) html += std::visit(blocks, block);
  return html;
}

HtmlPage page_of(const Document& document) {
  HtmlPage page;
  HtmlBlocks blocks;
  for (const Document::Block& block : document.blocks()) {
    const auto* const heading = std::get_if<Document::Heading>(&block);
    const std::string name = heading == nullptr ? "" : shown_line(heading->text.plain());
    const std::string html = std::visit(blocks, block);
    if (heading != nullptr && heading->level == 1) {
      page.title = name;
    } else if (heading != nullptr && heading->level == 2) {
      page.sections.push_back({id_of(name), name, {}});
    } else {
      (page.sections.empty() ? page.lead : page.sections.back().body) += html;
    }
  }
  return page;
}

}  // namespace linkgain
