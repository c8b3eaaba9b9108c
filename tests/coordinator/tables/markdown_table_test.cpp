#include "linkgain/tables/markdown_table.hpp"

#include <gtest/gtest.h>

namespace linkgain {
namespace {

TEST(MarkdownTable, LinesUp) {
  MarkdownTable table({{"Name"}, {"n", MarkdownTable::Alignment::right}});
  table.add_row({"a", "12345"});
  table.add_row({"longer", "1"});
  EXPECT_EQ(table.text(),
            "| Name   | n     |\n"
            "| ------ | ----: |\n"
            "| a      | 12345 |\n"
            "| longer |     1 |\n");
}

TEST(MarkdownTable, CountsCharactersAndNotBytes) {
  MarkdownTable table({{"Range"}});
  table.add_row({"1 … 2"});
  EXPECT_EQ(table.text(),
            "| Range |\n"
            "| ----- |\n"
            "| 1 … 2 |\n");
}

TEST(MarkdownTable, KeepsCellsApart) {
  MarkdownTable table({{"a"}, {"b"}});
  table.add_row({"x|y", "two\nlines"});
  EXPECT_EQ(table.text(),
            "| a    | b         |\n"
            "| ---- | --------- |\n"
            "| x\\|y | two lines |\n");
}

TEST(MarkdownTable, LeavesOutAColumnThatNeedsValuesAndHasNone) {
  constexpr auto kLeft = MarkdownTable::Alignment::left;
  const std::vector<MarkdownTable::Column> columns{{"a"}, {"b", kLeft, true}, {"c"}};
  MarkdownTable without(columns);
  without.add_row({"1", "", ""});
  without.add_row({"2"});
  EXPECT_EQ(without.text(),
            "| a   | c   |\n"
            "| --- | --- |\n"
            "| 1   |     |\n"
            "| 2   |     |\n");
  MarkdownTable with(columns);
  with.add_row({"1", "", "x"});
  with.add_row({"2", "y", ""});
  EXPECT_EQ(with.text(),
            "| a   | b   | c   |\n"
            "| --- | --- | --- |\n"
            "| 1   |     | x   |\n"
            "| 2   | y   |     |\n");
}

TEST(MarkdownTable, FillsUpShortRows) {
  MarkdownTable table({{"a"}, {"b"}});
  table.add_row({"1"});
  EXPECT_EQ(table.text(),
            "| a   | b   |\n"
            "| --- | --- |\n"
            "| 1   |     |\n");
}

}  // namespace
}  // namespace linkgain
