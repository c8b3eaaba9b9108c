#include "bench/programs/linkgain/check.cpp"

#include <gmock/gmock.h>

#include "parsing.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;

CheckOptions check_with(const std::vector<std::string>& arguments) {
  return options_of<CheckOptions>({"check", "--baseline", "b.json"}, arguments);
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

}  // namespace
}  // namespace linkgain::test
