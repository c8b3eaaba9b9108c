#include "bench/programs/linkgain/report.cpp"

#include <gtest/gtest.h>

#include "parsing.hpp"

namespace linkgain::test {
namespace {

ReportOptions report_with(const std::vector<std::string>& arguments) {
  return options_of<ReportOptions>({"report"}, arguments);
}

TEST(CommandLine, OfReport) {
  EXPECT_EQ(report_with({"a/record.json"}).record, "a/record.json");
  EXPECT_EQ(report_with({"r"}).format, OutputFormat::markdown);
  EXPECT_EQ(report_with({}).record, "");
  EXPECT_EQ(report_with({"r", "--format", "table"}).format, OutputFormat::table);
  EXPECT_EQ(report_with({"r", "--format", "csv"}).format, OutputFormat::csv);
  EXPECT_EQ(report_with({"r", "--format", "json"}).format, OutputFormat::json);
  EXPECT_EQ(report_with({"r", "--json"}).format, OutputFormat::json);
}

}  // namespace
}  // namespace linkgain::test
