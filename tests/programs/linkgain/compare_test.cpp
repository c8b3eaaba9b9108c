#include "bench/programs/linkgain/compare.cpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsing.hpp"

namespace linkgain {
namespace {

using test::refusal;
using testing::ElementsAre;
using testing::HasSubstr;

CompareCommandOptions compare_with(const std::vector<std::string>& arguments) {
  return test::options_of<CompareCommandOptions>({"compare"}, arguments);
}

TEST(CommandLine, OfCompare) {
  const CompareCommandOptions plain = compare_with({"a.json", "b.json"});
  EXPECT_THAT(plain.runs, ElementsAre("a.json", "b.json"));
  EXPECT_EQ(plain.format, OutputFormat::table);
  EXPECT_EQ(plain.metric, Metric::time);
  EXPECT_EQ(plain.compare.threshold, 0.02);
  const CompareCommandOptions full =
      compare_with({"a", "b", "c", "--metric", "busbw", "--format", "md", "--only",
                    "send_recv,all_reduce", "--threshold", "5%"});
  EXPECT_THAT(full.runs, ElementsAre("a", "b", "c"));
  EXPECT_EQ(full.format, OutputFormat::markdown);
  EXPECT_EQ(full.metric, Metric::busbw);
  EXPECT_EQ(full.compare.threshold, 0.05);
  EXPECT_THAT(full.compare.operations,
              ElementsAre(OperationKind::send_recv, OperationKind::all_reduce));
  EXPECT_EQ(compare_with({"a", "b", "--json"}).format, OutputFormat::json);
  EXPECT_THAT(refusal({"compare"}), HasSubstr("runs is required"));
  EXPECT_EQ(refusal({"compare", "a"}), "compare needs two runs or more");
  EXPECT_THAT(refusal({"compare", "a", "b", "--metric", "busw"}), HasSubstr("did you mean busbw?"));
  EXPECT_THAT(refusal({"compare", "a", "b", "--format", "mdd"}), HasSubstr("did you mean md?"));
  EXPECT_THAT(refusal({"compare", "a", "b", "--threshold", "80%"}), HasSubstr("0.1 % to 50 %"));
  EXPECT_THAT(refusal({"compare", "a", "b", "--threshold", "few"}), HasSubstr("'few'"));
}

}  // namespace
}  // namespace linkgain
