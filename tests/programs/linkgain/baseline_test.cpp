#include "bench/programs/linkgain/baseline.cpp"

#include <gmock/gmock.h>

#include "parsing.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;

BaselineOptions baseline_with(const std::vector<std::string>& arguments) {
  return options_of<BaselineOptions>({"baseline"}, arguments);
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

}  // namespace
}  // namespace linkgain::test
