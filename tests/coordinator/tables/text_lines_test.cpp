#include "linkgain/tables/text_lines.hpp"

#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

TEST(OneLine, EndsNoLineAndBeginsNoneWithACommand) {
  EXPECT_EQ(one_line("a\nb\r::c"), "a b ::c");
  EXPECT_EQ(one_line("::error::x"), "'::error::x");
  EXPECT_EQ(one_line(" \n::error::x"), "'  ::error::x");
  EXPECT_EQ(one_line("\t\u00a0\u3000::error::x"), "'\t\u00a0\u3000::error::x");
  EXPECT_EQ(one_line("a ::b"), "a ::b");
  EXPECT_EQ(one_line("  a"), "  a");
}

TEST(InAscii, HasALikeForWhatReportsWrite) {
  EXPECT_EQ(in_ascii("11.8–12.0x ±1 % … 3 µs ▁█ ß"), "11.8-12.0x +-1 % ~ 3 us _# ?");
}

TEST(DisplayWidth, CountsNoColours) { EXPECT_EQ(display_width("\033[32m12×\033[0m"), 3U); }

}  // namespace
}  // namespace linkgain::test
