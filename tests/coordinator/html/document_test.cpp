#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "linkgain/base/text.hpp"
#include "linkgain/html/page.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::Not;

Table times() {
  Table table({{.title = "Size", .alignment = kRight, .too_long = Table::TooLong::cut},
               {"p2p", kRight},
               {"busbw GB/s", kRight, true, 2},
               {"Speed-up", kRight},
               {"95 % CI", kRight, false, 1},
               {"Limit", kRight, true},
               {.title = "Why", .too_long = Table::TooLong::below}},
              "Times with p2p");
  table.add_row({"16 B", "9.71 us", "0.0328", toned("1.04x", Tone::doubtful), "1.02–1.06x"});
  table.add_row(
      {"1 GiB", strong("WRONG DATA"), "324", toned("0.79x", Tone::bad), "0.78–0.80x", "",
       "a reason for which no narrow terminal has room in one line with all of the rest"});
  table.add_row({"2 GiB", code("a|b"), "", toned("12.6x", Tone::good)});
  return table;
}

/// Returns a document with a block of each kind.
Document sample() {
  Document document;
  document.title("linkgain: " + code("a title"));
  document.paragraph(strong("Words") + " of " + code("all_reduce/float32/8B") +
                     " in a sentence that is longer than any narrow terminal, and so is broken.");
  document.heading("Every case");
  document.table(times());
  document.item("an item of a list that is longer than any narrow terminal");
  document.item(Document::Item{"a warning", "Advice: what to do", {"another below it"}});
  document.heading("Repeat it", 3);
  document.code(
      "a command  that is never broken, however narrow the terminal may be it is shown on\n");
  document.figure("<svg/>\n");
  Footnotes notes;
  notes.mark("l", "what a mark means");
  notes.number("what a number means");
  document.notes(notes);
  return document;
}

TEST(Document, SaysNoHeadingAgainAsACaption) {
  Table own({{"a"}}, "Own caption");
  own.add_row({"1"});
  Table other({{"a"}});
  other.add_row({"1"});
  Document document;
  document.heading("Matrix");
  document.table(own);
  document.table(other);
  const std::string html = to_html(document);
  EXPECT_THAT(html, HasSubstr("<div class=\"scroll\" role=\"group\" aria-label=\"Own caption\""));
  EXPECT_THAT(html, HasSubstr("<div class=\"scroll said\" role=\"group\" aria-label=\"Matrix\""));
  EXPECT_THAT(std::string(kPageStyle), HasSubstr(".said caption"));
}

TEST(Document, IsTheSameForATerminalInMarkdownAndOnAPage) {
  Situations texts;
  for (const std::size_t columns : {kAnyColumns, std::size_t{60}, std::size_t{40}}) {
    const std::string text = to_terminal(sample(), {.columns = columns});
    for (const std::string& line : split(text, '\n')) {
      if (line.starts_with("a command")) continue;
      EXPECT_LE(display_width(line), columns) << line;
    }
    texts.add(columns == kAnyColumns ? "no terminal" : std::to_string(columns), text);
  }
  texts.add("ASCII in colours",
            to_terminal(sample(), {.columns = 80, .utf8 = false, .color = true}));
  texts.add("Markdown", to_markdown(sample()));
  texts.add("HTML", to_html(sample()));
  expect_golden(texts.text(), "document.txt");
}

TEST(Document, HasASectionOfAPageForEachHeading) {
  Document document;
  document.title("A " + code("run"));
  document.paragraph("Lead.");
  document.heading("What changed");
  document.paragraph("One.");
  document.heading("Part", 3);
  document.heading("Two");
  const HtmlPage page = page_of(document);
  EXPECT_EQ(page.title, "A run");
  EXPECT_EQ(page.lead, "<p>Lead.</p>\n");
  ASSERT_EQ(page.sections.size(), 2U);
  EXPECT_EQ(page.sections[0].id, "what-changed");
  EXPECT_EQ(page.sections[0].name, "What changed");
  EXPECT_EQ(page.sections[0].body, "<p>One.</p>\n<h3>Part</h3>\n");
  EXPECT_EQ(page.sections[1].body, "");
}

/// Puts the text in every place that a document has for text of others.
Document everywhere(const std::string& text) {
  Document document;
  document.title(text);
  document.heading(text);
  document.paragraph(text);
  document.paragraph(strong(text) + code(text) + toned(text, Tone::bad));
  document.item(Document::Item{text, text, {text}});
  document.code(text + "\n");
  Table table({{text}, {.title = "Why", .too_long = Table::TooLong::below}}, text);
  table.add_row({text, text});
  table.add_row({code(text), text});
  document.table(std::move(table));
  Footnotes notes;
  notes.number(text);
  document.notes(notes);
  return document;
}

/// Payloads, and what must not be in any form of a document that has them, by a regular expression.
struct Payload {
  std::string text;
  std::string markdown;
  std::string page;
  std::string terminal;
};

/// Leaves out code, which may say anything.
std::string without_code(const std::string& markdown) {
  const std::string blocks =
      std::regex_replace(markdown, std::regex("(^|\n)(`{3,})sh\n[^]*?\n\\2\n"), "\n");
  return std::regex_replace(blocks, std::regex("(`+)[^]*?\\1"), "code");
}

TEST(Document, TakesNoTextOfOthersForMarkup) {
  const std::string command = "(^|\n)\\s*::";
  const std::vector<Payload> payloads{
      {"<script>alert('1')</script>", "(^|[^\\\\])<script", "<script|alert\\('1'\\)", command},
      {"<img src=x onerror=y>", "(^|[^\\\\])<img", "<img", command},
      {"[a](https://evil.example)", "\\]\\(", "href=\"https", command},
      {"![a](https://evil.example/x.png)", "\\]\\(", "<img", command},
      {"::error::x", command, command, command},
      {"a\n::error::x", command, command, command},
      {"a\r\n ::stop-commands::x", command, command, command},
      {"|x|\n|---|\n# y", "(^|\n)# y", "<h1>y", command},
      {"\033[31mred\033]0;title\a", "\033|\a", "\033|\a", "\033|\a"},
      {"\xff\u202e\u2028x", "\xff|\u202e|\u2028", "\xff|\u202e|\u2028", "\xff|\u202e|\u2028"},
  };
  for (const Payload& payload : payloads) {
    const Document document = everywhere(payload.text);
    const auto finds = [](const std::string& text, const std::string& pattern) {
      return std::regex_search(text, std::regex(pattern));
    };
    const std::string markdown = to_markdown(document);
    EXPECT_FALSE(finds(without_code(markdown), payload.markdown)) << markdown;
    const std::string page = html_text(page_of(document));
    EXPECT_FALSE(finds(page.substr(page.find("<body>")), payload.page)) << page;
    const std::string terminal = to_terminal(document);
    EXPECT_FALSE(finds(terminal, payload.terminal)) << terminal;
    EXPECT_FALSE(finds(to_terminal(document, {.columns = 40}), payload.terminal)) << terminal;
  }
}

TEST(Document, SetsCommandsOfSentencesInCode) {
  Document document;
  document.paragraph(with_code("a `b c` and `d"));
  EXPECT_EQ(to_html(document), "<p>a <code>b c</code> and `d</p>\n");
  EXPECT_EQ(to_terminal(document), "a b c and `d\n");
}

}  // namespace
}  // namespace linkgain::test
