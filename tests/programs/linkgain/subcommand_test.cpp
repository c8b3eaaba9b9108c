#include <gmock/gmock.h>

#include "linkgain/base/build_info.hpp"
#include "linkgain/base/text.hpp"
#include "parsing.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string text_of(const std::vector<std::string>& arguments) {
  return options_of<TextRequest>(arguments).text;
}

TEST(Help, OfEachCommandHasTwoExamples) {
  for (const char* command :
       {"run", "topo", "doctor", "compare", "baseline", "check", "fleet", "report", "predict"}) {
    const std::string help = text_of({command, "--help"});
    const std::size_t examples = help.find("Examples:");
    ASSERT_NE(examples, std::string::npos) << command;
    const std::string example = std::string("\n  linkgain ") + command;
    const std::size_t first = help.find(example, examples);
    ASSERT_NE(first, std::string::npos) << command;
    EXPECT_NE(help.find(example, first + 1), std::string::npos) << command;
    EXPECT_THAT(help, HasSubstr("--json"));
  }
}

TEST(Help, OfRunNamesEveryOption) {
  const std::string help = text_of({"run", "--help"});
  for (const char* option :
       {"--backend",      "--only",     "--sizes",   "--type",     "--reduction",
        "--launch-mode ", "--pattern",  "--pair",    "--in-place", "--profile",
        "--gpus",         "--np",       "--variant", "--launches", "--schedule",
        "--launcher",     "--hostfile", "--timeout", "--budget",   "--ci-width",
        "--out",          "--json",     "--quiet",   "--no-color", "--require-healthy"}) {
    EXPECT_THAT(help, HasSubstr(option));
  }
}

TEST(Help, OfTheProgramListsCommandsAndExitStatuses) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, std::vector<std::string>{"--help"}}) {
    EXPECT_THAT(text_of(arguments),
                AllOf(HasSubstr("run"), HasSubstr("topo"), HasSubstr("doctor"), HasSubstr("report"),
                      HasSubstr("  4      wrong data\n"), HasSubstr("128+n")));
  }
}

TEST(Help, IsACommandToo) {
  EXPECT_EQ(text_of({"help"}), text_of({"--help"}));
  EXPECT_EQ(text_of({"help", "run"}), text_of({"run", "--help"}));
  EXPECT_EQ(text_of({"help", "topo"}), text_of({"topo", "--help"}));
  EXPECT_THAT(text_of({"--help"}), HasSubstr("\n  help "));
}

/// Returns the lines that end in a colon and are not indented, above the examples.
std::vector<std::string> headings_of(const std::string& help) {
  std::vector<std::string> headings;
  for (const std::string& line : split(help.substr(0, help.find("Examples:")), '\n')) {
    if (line.ends_with(':') && !line.starts_with(' '))
      headings.push_back(line.substr(0, line.size() - 1));
  }
  return headings;
}

TEST(Help, OfRunHasFiveGroups) {
  EXPECT_THAT(headings_of(text_of({"run", "--help"})),
              ElementsAre("What to measure", "How to measure", "Training", "Where it runs",
                          "Output", "Exit status"));
}

TEST(Help, FitsEightyColumns) {
  for (const char* command : {"", "run", "topo", "doctor", "compare", "baseline", "check", "fleet",
                              "report", "predict", "help"}) {
    for (const std::string& line : split(text_of({"help", command}), '\n')) {
      EXPECT_LE(line.size(), 80U) << command << ": " << line;
    }
  }
}

TEST(Help, ShowsDefaultsInOneForm) {
  const std::string help = text_of({"run", "--help"});
  EXPECT_THAT(help, AllOf(HasSubstr("(default: float32)"), HasSubstr("(default: 60)")));
  EXPECT_THAT(text_of({"baseline", "--help"}), HasSubstr("(default: 5%)"));
  EXPECT_THAT(text_of({"fleet", "--help"}), HasSubstr("(default: table)"));
}

TEST(Version, SaysWhatWasBuilt) {
  EXPECT_THAT(text_of({"--version"}),
              AllOf(HasSubstr("linkgain " + build_info().version), HasSubstr(build_info().text)));
}

TEST(CommandLine, ErrorsPointToTheHelpOfTheirCommand) {
  try {
    parse({"run", "--size", "8"});
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.advice(), "see linkgain run --help");
  }
}

}  // namespace
}  // namespace linkgain::test
