#include "linkgain/tables/terminal_text.hpp"

#include <gtest/gtest.h>

#include "linkgain/base/text.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

constexpr const char* kReport =
    "# A title\n"
    "\n"
    "**Words** of `code` in a sentence that is longer than any narrow terminal, and so is broken.\n"
    "\n"
    "| Size    | p2p      | busbw GB/s | host     | Speed-up | 95 % CI    | Less time | Marks |\n"
    "| ------: | -------: | ---------: | -------: | -------: | ---------: | --------: | ----- |\n"
    "|    16 B |  9.71 us |  0.0328    | 10.12 us |    1.04x | 1.02-1.06x |     4.1 % | `l`   |\n"
    "|   1 GiB |  3.31 ms |  324       | 41.85 ms |    12.6x | 12.4-12.9x |      92 % |       |\n"
    "\n"
    "- `l`: an item of a list that is longer than any narrow terminal\n"
    "  - another below it\n"
    "\n"
    "```sh\n"
    "a command  that is never broken, however narrow the terminal may be on which it is shown\n"
    "```\n";

TEST(OneLine, EndsNoLineAndBeginsNoneWithACommand) {
  EXPECT_EQ(one_line("a\nb\r::c"), "a b ::c");
  EXPECT_EQ(one_line("::error::x"), "'::error::x");
  EXPECT_EQ(one_line(" \n::error::x"), "'  ::error::x");
  EXPECT_EQ(one_line("\t\u00a0\u3000::error::x"), "'\t\u00a0\u3000::error::x");
  EXPECT_EQ(one_line("a ::b"), "a ::b");
  EXPECT_EQ(one_line("  a"), "  a");
}

TEST(TerminalText, FitsTablesIntoTheTerminal) {
  Situations texts;
  for (const std::size_t columns : {100U, 60U, 45U, 24U}) {
    const std::string text = terminal_text(kReport, columns);
    for (const std::string& line : split(text, '\n')) {
      if (line.starts_with("a command")) continue;
      EXPECT_LE(display_width(line), columns) << line;
    }
    texts.add(std::to_string(columns), text);
  }
  expect_golden(texts.text(), "terminal_text.txt");
}

TEST(TerminalText, KeepsBarsOfCells) {
  EXPECT_EQ(terminal_text("| a   |\n| --- |\n| b\\|c |\n", 80), "  a\n  b|c\n");
}

TEST(InAscii, HasALikeForWhatReportsWrite) {
  EXPECT_EQ(in_ascii("11.8–12.0x ±1 % … 3 µs ▁█ ß"), "11.8-12.0x +-1 % ~ 3 us _# ?");
}

TEST(DisplayWidth, CountsNoColours) { EXPECT_EQ(display_width("\033[32m12×\033[0m"), 3U); }

}  // namespace
}  // namespace linkgain::test
