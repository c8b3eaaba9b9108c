#include "bench/programs/linkgain/compare.cpp"

#include <gmock/gmock.h>

#include "parsing.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;

CompareCommandOptions compare_with(const std::vector<std::string>& arguments) {
  return options_of<CompareCommandOptions>({"compare"}, arguments);
}

TEST(CommandLine, OfCompare) {
  const CompareCommandOptions plain = compare_with({"a.json", "b.json"});
  EXPECT_THAT(plain.runs, ElementsAre("a.json", "b.json"));
  EXPECT_EQ(plain.format, OutputFormat::table);
  EXPECT_EQ(plain.metric, Metric::time);
  EXPECT_EQ(plain.compare.tolerance, 0.02);
  const CompareCommandOptions full =
      compare_with({"a", "b", "--metric", "busbw", "--format", "md", "--only",
                    "send_recv,all_reduce", "--tolerance", "5%"});
  EXPECT_THAT(full.runs, ElementsAre("a", "b"));
  EXPECT_EQ(full.format, OutputFormat::markdown);
  EXPECT_EQ(full.metric, Metric::busbw);
  EXPECT_EQ(full.compare.tolerance, 0.05);
  EXPECT_THAT(full.compare.operations,
              ElementsAre(OperationKind::send_recv, OperationKind::all_reduce));
  EXPECT_EQ(compare_with({"a", "b", "--json"}).format, OutputFormat::json);
}

}  // namespace
}  // namespace linkgain::test
