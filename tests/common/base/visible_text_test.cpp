#include "linkgain/base/visible_text.hpp"

#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

TEST(VisibleText, ShowsWhatActsOnATerminal) {
  EXPECT_EQ(visible("plain, \u00b5s \u2013 \U0001F600"), "plain, \u00b5s \u2013 \U0001F600");
  EXPECT_EQ(visible("\x1b[31mred\x1b[0m\x07\x7f"), "\\x1b[31mred\\x1b[0m\\x07\\x7f");
  EXPECT_EQ(visible("a\nb\tc\rd"), "a\\x0ab\\x09c\\x0dd");
  EXPECT_EQ(visible("\u009b31m"), "\\x9b31m") << "C1 as a character of UTF-8";
  EXPECT_EQ(visible("\x9b"
                    "31m"),
            "\\x9b31m")
      << "C1 as a byte";
  EXPECT_EQ(visible("a\u202eb\u2066c\u200fd\u061ce"), "a\\u202eb\\u2066c\\u200fd\\u061ce");
  EXPECT_EQ(visible("a\u2028b\u2029c"), "a\\u2028b\\u2029c");
  EXPECT_EQ(visible(std::string_view("\0", 1)), "\\x00");
}

TEST(VisibleText, KeepsLinesWhereTheyAreMeant) {
  EXPECT_EQ(visible_lines("a\n\tb\r\x1b"), "a\n\tb\\x0d\\x1b");
}

TEST(VisibleText, IsTheSameWhenShownAgain) {
  for (int first = 0; first < 256; ++first) {
    for (const int second : {0x00, 0x20, 0x80, 0x9b, 0xff}) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      const std::string shown = visible(text);
      EXPECT_EQ(visible(shown), shown) << first << " " << second;
    }
  }
}

}  // namespace
}  // namespace linkgain::test
