#include "bench/programs/linkgain/fleet.cpp"

#include <gmock/gmock.h>

#include "parsing.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CommandLine, OfFleet) {
  const auto plain = options_of<FleetCommandOptions>({"fleet", "nodes"});
  EXPECT_THAT(plain.records, ElementsAre("nodes"));
  EXPECT_EQ(plain.format, OutputFormat::table);
  EXPECT_EQ(plain.fleet.tolerance, 0.05);
  EXPECT_THAT(plain.fleet.expected, IsEmpty());
  const auto full = options_of<FleetCommandOptions>(
      {"fleet", "a", "b", "--expect", "n[1-2],m", "--tolerance", "10%", "--format", "csv"});
  EXPECT_THAT(full.records, ElementsAre("a", "b"));
  EXPECT_THAT(full.fleet.expected, ElementsAre("n1", "n2", "m"));
  EXPECT_EQ(full.fleet.tolerance, 0.1);
  EXPECT_EQ(full.format, OutputFormat::csv);
}

}  // namespace
}  // namespace linkgain::test
