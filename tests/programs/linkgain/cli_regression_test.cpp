#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli.hpp"
#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Request parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "linkgain");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

BaselineOptions baseline_with(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "baseline");
  return std::get<BaselineOptions>(parse(arguments));
}

CheckOptions check_with(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"check", "--baseline", "b.json"});
  return std::get<CheckOptions>(parse(arguments));
}

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    parse(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(BaselineCommandLine, TakesRecordsAndAFile) {
  const BaselineOptions options = baseline_with({"a", "b/record.json", "-o", "b.json"});
  EXPECT_THAT(options.records, ElementsAre("a", "b/record.json"));
  EXPECT_EQ(options.output, "b.json");
  EXPECT_EQ(options.tolerance, (Tolerance{-0.05, 0.05}));
  EXPECT_FALSE(options.json);
  EXPECT_EQ(baseline_with({"-o", "b.json", "a", "--tolerance", "2%"}).tolerance,
            (Tolerance{-0.02, 0.02}));
  const BaselineOptions printed = baseline_with({"a", "--json"});
  EXPECT_TRUE(printed.json && !printed.output);
}

TEST(BaselineCommandLine, RefusesWhatLeadsNowhere) {
  EXPECT_THAT(refusal({"baseline", "-o", "b.json"}), HasSubstr("record is required"));
  EXPECT_EQ(refusal({"baseline", "a"}), "nowhere to write the baseline to");
  EXPECT_EQ(refusal({"baseline", "a", "-o", ""}), "-o needs the name of a file");
  EXPECT_EQ(refusal({"baseline", "a", "-o", "b", "--tolerance", "5"}),
            "--tolerance '5' is no share of 0.1 % to 99 %");
}

TEST(CheckCommandLine, TakesRecordsAndABaseline) {
  const CheckOptions options = check_with({"a", "b"});
  EXPECT_THAT(options.records, ElementsAre("a", "b"));
  EXPECT_EQ(options.baseline, "b.json");
  EXPECT_EQ(options.format, OutputFormat::table);
  EXPECT_FALSE(options.tolerance || options.junit || options.prometheus);
}

TEST(CheckCommandLine, TakesFormatsAndFiles) {
  EXPECT_EQ(check_with({"a", "--format", "md"}).format, OutputFormat::markdown);
  EXPECT_EQ(check_with({"a", "--format", "csv"}).format, OutputFormat::csv);
  EXPECT_EQ(check_with({"a", "--format", "json"}).format, OutputFormat::json);
  EXPECT_EQ(check_with({"a", "--json"}).format, OutputFormat::json);
  const CheckOptions options =
      check_with({"a", "--junit", "c.xml", "--prometheus", "c.prom", "--tolerance", "2.5%"});
  EXPECT_EQ(options.junit, "c.xml");
  EXPECT_EQ(options.prometheus, "c.prom");
  EXPECT_EQ(options.tolerance, (Tolerance{-0.025, 0.025}));
}

TEST(CheckCommandLine, RefusesWhatCannotBeMeant) {
  EXPECT_THAT(refusal({"check", "a"}), HasSubstr("--baseline is required"));
  EXPECT_THAT(refusal({"check", "--baseline", "b"}), HasSubstr("record is required"));
  EXPECT_THAT(refusal({"check", "a", "--baseline", "b", "--format", "xml"}),
              HasSubstr("did you mean"));
  EXPECT_EQ(refusal({"check", "a", "--baseline", "b", "--tolerance", "-5%"}),
            "--tolerance '-5%' is no share of 0.1 % to 99 %");
  EXPECT_EQ(refusal({"check", "a", "--baseline", "b", "--juint", "c"}),
            "unknown option '--juint': did you mean --junit?");
}

}  // namespace
}  // namespace linkgain
