#include "linkgain/cases/program_metric.hpp"

#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

TEST(ProgramMetric, IsTimedWhereLinkgainTimesIt) {
  for (const char* name : {"time", "start-up", "step"}) EXPECT_TRUE(is_timed({name})) << name;
  for (const char* name : {"tokens", "times", "Time"}) EXPECT_FALSE(is_timed({name})) << name;
}

TEST(ProgramMetric, IsASampleThatIsLargerWhereItIsSlower) {
  const ProgramMetric loss{.name = "loss"};
  EXPECT_EQ(to_sample(loss, 4.0), 4.0);
  const ProgramMetric rate{.name = "tokens", .higher_is_better = true};
  EXPECT_EQ(to_sample(rate, 4.0), 0.25);
  EXPECT_EQ(from_sample(rate, Seconds{0.25}), 4.0);
}

TEST(ReadableValue, HasNoExponentBelowATrillion) {
  const ProgramMetric metric{.name = "tokens"};
  EXPECT_EQ(readable_value(metric, Seconds{1.2345678}), "1.2346");
  EXPECT_EQ(readable_value(metric, Seconds{99999.0}), "99999");
  EXPECT_EQ(readable_value(metric, Seconds{133120.4}), "133120");
  EXPECT_EQ(readable_value(metric, Seconds{2e12}), "2e+12");
}

TEST(ReadableValue, OfARateIsTheNumberThatWasPrinted) {
  const ProgramMetric metric{.name = "tokens", .higher_is_better = true};
  EXPECT_EQ(readable_value(metric, Seconds{to_sample(metric, 250000.0)}), "250000");
}

TEST(ReadableValue, OfATimeHasItsUnit) { EXPECT_EQ(readable_value({}, Seconds{101.4}), "101.4 s"); }

}  // namespace
}  // namespace linkgain::test
