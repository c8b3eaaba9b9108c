#include "bench/programs/linkgain/report.cpp"

#include <gtest/gtest.h>

#include "parsing.hpp"

namespace linkgain::test {
namespace {

ReportOptions report_with(const std::vector<std::string>& arguments) {
  return options_of<ReportOptions>({"report"}, arguments);
}

TEST(CommandLine, OfReport) {
  using Paths = std::vector<std::filesystem::path>;
  EXPECT_EQ(report_with({"a/record.json"}).records, Paths{"a/record.json"});
  EXPECT_EQ(report_with({"a", "b", "--format", "html"}).records, (Paths{"a", "b"}));
  EXPECT_EQ(report_with({"r"}).format, ReportFormat::markdown);
  EXPECT_EQ(report_with({}).records, Paths{});
  EXPECT_EQ(report_with({"r", "--format", "table"}).format, ReportFormat::table);
  EXPECT_EQ(report_with({"r", "--format", "html"}).format, ReportFormat::html);
  EXPECT_EQ(report_with({"r", "--format", "csv"}).format, ReportFormat::csv);
  EXPECT_EQ(report_with({"r", "--format", "json"}).format, ReportFormat::json);
  EXPECT_EQ(report_with({"r", "--json"}).format, ReportFormat::json);
  EXPECT_EQ(report_with({"r", "--card"}).format, ReportFormat::card);
  EXPECT_EQ(report_with({"r", "--format", "card"}).format, ReportFormat::card);
  EXPECT_EQ(report_with({"r", "-o", "a.svg"}).format, ReportFormat::svg) << "by its ending";
  EXPECT_EQ(report_with({"r", "-o", "a.html"}).format, ReportFormat::html);
  EXPECT_EQ(report_with({"r", "-o", "a"}).format, ReportFormat::markdown);
  EXPECT_EQ(report_with({"r", "-o", "a.svg", "--format", "html"}).format, ReportFormat::html);
  EXPECT_EQ(report_with({"r", "-o", "a.svg", "--format", "md"}).format, ReportFormat::markdown);
  EXPECT_EQ(report_with({"r", "-o", "a.svg", "--card"}).format, ReportFormat::card);
  for (const char* format : {"google-benchmark", "nccl-tests", "nccl-tests-json"}) {
    EXPECT_NE(test::refusal({"report", "r", "--format", format}), "accepted");
  }
}

}  // namespace
}  // namespace linkgain::test
