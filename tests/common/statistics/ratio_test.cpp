#include "linkgain/statistics/ratio.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

namespace linkgain::test {
namespace {

using testing::Optional;

Estimate with_interval(double estimate, double half_width) {
  Estimate ratio;
  ratio.value = estimate;
  ratio.interval = {estimate * std::exp(-half_width), estimate * std::exp(half_width)};
  return ratio;
}

TEST(LessTime, IsThePagesShare) {
  EXPECT_NEAR(less_time(131.4367 / 101.9003), 0.2247, 1e-4);
  EXPECT_DOUBLE_EQ(less_time(2.0), 0.5);
  EXPECT_DOUBLE_EQ(less_time(1.0), 0.0);
  EXPECT_DOUBLE_EQ(less_time(0.5), -1.0);
}

TEST(RelativeHalfWidth, IsHalfTheLogOfHighOverLow) {
  EXPECT_THAT(relative_half_width(with_interval(3.0, 0.02)),
              Optional(testing::DoubleNear(0.02, 1e-12)));
  EXPECT_EQ(relative_half_width(Estimate{}), std::nullopt);
}

}  // namespace
}  // namespace linkgain::test
