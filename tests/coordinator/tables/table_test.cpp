#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/base/text.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;

const std::string kLong(kTerminalColumns, 'x');

TEST(MarkdownTable, LinesUp) {
  Table table({{"Name"}, {"n", Table::Alignment::right}});
  table.add_row({"a", "12345"});
  table.add_row({"longer", "1"});
  EXPECT_EQ(to_markdown(table),
            "| Name   | n     |\n"
            "| ------ | ----: |\n"
            "| a      | 12345 |\n"
            "| longer |     1 |\n");
}

TEST(TextTable, LeavesColumnsOutInTheirOrderUntilItFits) {
  Table table({{"a"},
               {"second", Table::Alignment::left, false, 2},
               {"third", Table::Alignment::right, false, 1}});
  table.add_row({"x", "1", "2"});
  EXPECT_EQ(to_terminal(table, {.columns = 18}), "  a  second  third\n  x  1           2\n");
  EXPECT_EQ(to_terminal(table, {.columns = 17}), "  a  second\n  x  1\n");
  EXPECT_EQ(to_terminal(table, {.columns = 10}), "  a\n  x\n");
  EXPECT_EQ(to_terminal(table, {.columns = 1}), "  a\n  x\n") << "what may not be left out stays";
}

TEST(MarkdownTable, CountsCharactersAndNotBytes) {
  Table table({{"Range"}});
  table.add_row({"1 … 2"});
  EXPECT_EQ(to_markdown(table),
            "| Range |\n"
            "| ----- |\n"
            "| 1 … 2 |\n");
}

TEST(MarkdownTable, KeepsCellsApart) {
  Table table({{"a"}, {"b"}});
  table.add_row({"x|y", "two\nlines"});
  EXPECT_EQ(to_markdown(table),
            "| a    | b         |\n"
            "| ---- | --------- |\n"
            "| x\\|y | two lines |\n");
}

TEST(MarkdownTable, LeavesOutAColumnThatNeedsValuesAndHasNone) {
  constexpr auto kLeft = Table::Alignment::left;
  const std::vector<Table::Column> columns{{"a"}, {"b", kLeft, true}, {"c"}};
  Table without(columns);
  without.add_row({"1", "", ""});
  without.add_row({"2"});
  EXPECT_EQ(to_markdown(without),
            "| a   | c   |\n"
            "| --- | --- |\n"
            "| 1   |     |\n"
            "| 2   |     |\n");
  Table with(columns);
  with.add_row({"1", "", "x"});
  with.add_row({"2", "y", ""});
  EXPECT_EQ(to_markdown(with),
            "| a   | b   | c   |\n"
            "| --- | --- | --- |\n"
            "| 1   |     | x   |\n"
            "| 2   | y   |     |\n");
}

TEST(MarkdownTable, FillsUpShortRows) {
  Table table({{"a"}, {"b"}});
  table.add_row({"1"});
  EXPECT_EQ(to_markdown(table),
            "| a   | b   |\n"
            "| --- | --- |\n"
            "| 1   |     |\n");
}

TEST(Hanging, BreaksBetweenWordsWhereATerminalEnds) {
  const std::string words = kLong.substr(0, 60) + " " + kLong.substr(0, 59);
  EXPECT_EQ(hanging("", words), words + "\n") << "just fits";
  EXPECT_EQ(hanging("  - ", words),
            "  - " + kLong.substr(0, 60) + "\n    " + kLong.substr(0, 59) + "\n");
  EXPECT_EQ(hanging("", kLong + "y"), kLong + "y\n") << "a word is never broken";
  EXPECT_EQ(hanging("a:", ""), "a:\n");
}

/// Makes a table with reasons in its last column.
Table reasons(const std::vector<Cells>& rows) {
  Table table({{"Node"}, {.title = "Why", .too_long = Table::TooLong::below}});
  for (const Cells& row : rows) table.add_row(row);
  return table;
}

TEST(TextTable, PutsLongReasonsBelowByNumber) {
  EXPECT_EQ(to_terminal(reasons({{"a", "short"}, {"b", kLong}, {"c", ""}, {"d", kLong}})),
            "  Node  Why\n  a     short\n  b     (1)\n  c\n  d     (1)\n\n  (1) " + kLong + "\n");
}

TEST(MarkdownTable, KeepsReasons) {
  EXPECT_EQ(to_markdown(reasons({{"b", "because"}})),
            "| Node | Why     |\n| ---- | ------- |\n| b    | because |\n");
}

TEST(TextTable, HasNoColumnForNoReasons) {
  EXPECT_EQ(to_terminal(reasons({{"b", ""}})), "  Node\n  b\n");
}

TEST(TextTable, IsAlignedByCharacters) {
  Table table({{"Pair"}, {"Next"}});
  table.add_row({"GPU0–GPU1", "x"});
  EXPECT_EQ(to_terminal(table), "  Pair       Next\n  GPU0–GPU1  x\n");
}

/// Joins the members of each group.
std::vector<std::string> groups_of(const std::vector<std::string>& words) {
  std::vector<const std::string*> items;
  for (const std::string& word : words) items.push_back(&word);
  std::vector<std::string> texts;
  const auto first_letter = [](const std::string& word) {
    return word[0] == '-' ? std::string() : word.substr(0, 1);
  };
  for (const auto& group : grouped(items, first_letter)) {
    std::string text;
    for (const std::string* item : group) text += *item;
    texts.push_back(text);
  }
  return texts;
}

TEST(FirstColumns, CutsBetweenCharacters) {
  EXPECT_EQ(first_columns("1 … 2", 5), "1 … 2");
  EXPECT_EQ(first_columns("1 … 2", 3), "1 …");
  EXPECT_EQ(first_columns("1 … 2", 2), "1 ");
  EXPECT_EQ(first_columns("12 … 4", 4, "…"), "12 …");
  EXPECT_EQ(first_columns("12345", 4, "…"), "123…");
  EXPECT_EQ(first_columns("12345", 0), "");
}

TEST(Grouped, PutsThreeOrMoreInThePlaceOfTheFirst) {
  EXPECT_THAT(groups_of({"b1", "a1", "c1", "a2", "b2", "a3", "a4"}),
              ElementsAre("b1", "a1a2a3a4", "c1", "b2"));
}

TEST(Grouped, LeavesAloneWhatHasNoKey) {
  EXPECT_THAT(groups_of({"-1", "-2", "-3"}), ElementsAre("-1", "-2", "-3"));
}

std::string markdown_of(const Text& text) {
  Document document;
  document.paragraph(text);
  return to_markdown(document);
}

std::string markdown_of_code(const std::string& lines) {
  Document document;
  document.code(lines);
  return to_markdown(document);
}

TEST(Markdown, IsNeitherHtmlNorALink) {
  EXPECT_EQ(markdown_of("<img src=x> [a](b) ![c](d) (e) [1] a < b <0.01"),
            "\\<img src=x> [a]\\(b) ![c]\\(d) (e) [1] a < b <0.01\n");
  EXPECT_EQ(markdown_of("\\<img> \\\\<img>"), "\\<img> \\\\\\<img>\n")
      << "two backslashes are one, and what follows is not escaped";
  EXPECT_EQ(markdown_of(code("A=1")), "`A=1`\n");
  EXPECT_EQ(markdown_of(code("A=`x` ``y``")), "``` A=`x` ``y`` ```\n");
  EXPECT_EQ(markdown_of_code("a b\n"), "```sh\na b\n```\n");
  EXPECT_EQ(markdown_of_code("a '\n````\n'\n"), "`````sh\na '\n````\n'\n`````\n");
}

}  // namespace
}  // namespace linkgain::test
