#include "linkgain/cases/program_metric.hpp"

#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

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
