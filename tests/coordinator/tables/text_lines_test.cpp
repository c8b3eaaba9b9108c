#include "linkgain/tables/text_lines.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "linkgain/base/descriptor.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/tables/junit.hpp"
#include "linkgain/tables/prometheus.hpp"
#include "support/scratch_folder.hpp"

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

/// Protects GitHub's runners, which obey such a line.
TEST(ShownLines, ActOnNothing) {
  EXPECT_EQ(shown_line("a\nb\033[31m"), "a b" + visible("\033[31m"));
  EXPECT_EQ(shown_lines("a\n::error::b\nc"), "a\n'::error::b\nc");
}

/// Checks all ways by which a screen shows text of a run.
TEST(ScreenLines, HaveNothingThatActsOnATerminal) {
  const std::string hostile = "P2P/\033[31mred\xff\a";
  for (const bool utf8 : {true, false}) {
    const ScreenStyle style{.utf8 = utf8};
    for (const std::string& line :
         {cut(hostile, 40, style), in_lines(hostile, style), in_lines(hostile, "", style),
          with_end(hostile, "end", style)}) {
      EXPECT_THAT(line, testing::HasSubstr(visible(hostile)));
      EXPECT_EQ(line.find('\033'), line.npos);
    }
  }
}

TEST(TerminalColumns, AreAsManyAsThereAreWhereThereIsNoTerminal) {
  const ScratchFolder folder;
  std::ofstream(folder / "file") << "x";
  const Descriptor file(::open((folder / "file").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(terminal_columns(file.get()), kAnyColumns);
}

TEST(Fenced, HasNoFenceInside) { EXPECT_EQ(fenced("a `b`\n"), "```text\na 'b'\n```\n"); }

/// Decides which files linkgain may write over.
TEST(FileKinds, AreToldByWhatIsInThem) {
  PrometheusText text;
  text.gauge("linkgain_a", "b");
  text.value(1.0, {{"node", "n1"}});
  EXPECT_TRUE(kPrometheusFile.is_written_by_us(text.text()));
  EXPECT_FALSE(kPrometheusFile.is_written_by_us("linkgain_a 1\nnode_load1 2\n"));
  EXPECT_FALSE(kPrometheusFile.is_written_by_us("linkgain_a 1")) << "cut";
  EXPECT_TRUE(kJunitFile.is_written_by_us(
      junit_text({.name = "linkgain check", .subject = {}, .summary = {}, .cases = {}})));
  EXPECT_FALSE(
      kJunitFile.is_written_by_us("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>"));
}

TEST(InAscii, HasALikeForWhatReportsWrite) {
  EXPECT_EQ(in_ascii("11.8–12.0x ±1 % … 3 µs ▁█ ß"), "11.8-12.0x +-1 % ~ 3 us _# ?");
}

TEST(DisplayWidth, CountsNoColours) { EXPECT_EQ(display_width("\033[32m12×\033[0m"), 3U); }

}  // namespace
}  // namespace linkgain::test
