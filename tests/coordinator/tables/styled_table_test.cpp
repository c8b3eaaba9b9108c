#include "linkgain/tables/styled_table.hpp"

#include <gtest/gtest.h>

#include "linkgain/tables/text_lines.hpp"
#include "linkgain/tables/text_table.hpp"

namespace linkgain {
namespace {

const std::string kLong(kTerminalColumns, 'x');

TEST(Hanging, BreaksBetweenWordsWhereATerminalEnds) {
  const std::string words = kLong.substr(0, 60) + " " + kLong.substr(0, 59);
  EXPECT_EQ(hanging("", words), words + "\n") << "just fits";
  EXPECT_EQ(hanging("  - ", words),
            "  - " + kLong.substr(0, 60) + "\n    " + kLong.substr(0, 59) + "\n");
  EXPECT_EQ(hanging("", kLong + "y"), kLong + "y\n") << "a word is never broken";
  EXPECT_EQ(hanging("a:", ""), "a:\n");
}

TEST(StyledText, PutsLongReasonsBelowTheTableByNumber) {
  StyledText text(TableStyle::text);
  text.table_with_reasons({{"Node"}, {"Why"}},
                          {{"a", "short"}, {"b", kLong}, {"c", ""}, {"d", kLong}});
  EXPECT_EQ(text.text(),
            "  Node  Why\n  a     short\n  b     (1)\n  c\n  d     (1)\n\n  (1) " + kLong + "\n");
}

TEST(StyledText, KeepsReasonsInMarkdown) {
  StyledText text(TableStyle::markdown);
  text.table_with_reasons({{"Node"}, {"Why"}}, {{"b", "because"}});
  EXPECT_EQ(text.text(), "| Node | Why     |\n| ---- | ------- |\n| b    | because |\n");
}

TEST(StyledText, HasNoColumnForNoReasons) {
  StyledText text(TableStyle::text);
  text.table_with_reasons({{"Node"}, {"Why"}}, {{"b", ""}});
  EXPECT_EQ(text.text(), "  Node\n  b\n");
}

TEST(StyledText, NeverBreaksACommand) {
  StyledText text(TableStyle::text);
  text.command(kLong + " " + kLong);
  EXPECT_EQ(text.text(), "  - " + kLong + " " + kLong + "\n");
}

TEST(TextTable, IsAlignedByCharacters) {
  TextTable table({{"Pair"}, {"Next"}});
  table.add_row({"GPU0–GPU1", "x"});
  EXPECT_EQ(table.text(), "  Pair       Next\n  GPU0–GPU1  x\n");
}

}  // namespace
}  // namespace linkgain
