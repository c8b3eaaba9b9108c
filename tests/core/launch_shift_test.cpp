#include "linkgain/core/launch_shift.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "linkgain/core/student_t.hpp"

namespace linkgain {
namespace {

using ::testing::Optional;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

LaunchShift shift_of(double log, int before, int after, double deviation = 0.01) {
  return {log, Spread{deviation, 28, false}, before, after};
}

TEST(LaunchShift, CountsTheLaunchesOfBothSides) {
  EXPECT_DOUBLE_EQ(standard_error(shift_of(0.0, 8, 1)), 0.01 * std::sqrt(1.125));
  EXPECT_DOUBLE_EQ(standard_error(shift_of(0.0, 8, 8)), 0.005);
  const Interval interval = interval_of(shift_of(0.03, 8, 8), 2.0);
  EXPECT_DOUBLE_EQ(interval.estimate, 0.03);
  EXPECT_DOUBLE_EQ(interval.low, 0.02);
  EXPECT_DOUBLE_EQ(interval.high, 0.04);
}

TEST(LaunchShift, TellsTheChanceOfMoreThanABound) {
  const LaunchShift shift = shift_of(0.03, 8, 8);
  EXPECT_DOUBLE_EQ(chance_above(shift, 0.02), student_t_upper_tail(2.0, 28));
  EXPECT_NEAR(chance_below(shift, 0.02), student_t_upper_tail(-2.0, 28), 1e-12);
  EXPECT_EQ(chance_above(shift, kInfinite), 1.0);
  EXPECT_EQ(chance_below(shift, -kInfinite), 1.0);
}

TEST(LaunchShift, IsCertainWithoutSpread) {
  EXPECT_EQ(chance_above(shift_of(0.03, 2, 2, 0.0), 0.02), 0.0);
  EXPECT_EQ(chance_above(shift_of(0.02, 2, 2, 0.0), 0.02), 1.0);
}

TEST(Settling, TakesTheFewestLaunchesAfter) {
  // Half width 2.0 * 0.01 * sqrt(1/8 + 1/n) must be at most 0.01: n = 8.
  EXPECT_THAT(launches_to_settle(shift_of(0.01, 8, 1), 2.0, -0.02, 0.02),
              Optional(Settling{8, false}));
}

TEST(Settling, TakesMoreOnBothSidesWhereMoreAfterWouldNotDo) {
  // Even with all launches after, sqrt(1/2) * 0.02 = 0.014; with n on both sides n = 8.
  EXPECT_THAT(launches_to_settle(shift_of(0.01, 2, 2), 2.0, -0.02, 0.02),
              Optional(Settling{8, true}));
}

TEST(Settling, WorksOutsideTheToleranceToo) {
  const auto settling = launches_to_settle(shift_of(0.04, 8, 1), 2.0, -0.02, 0.02);
  ASSERT_TRUE(settling);
  const int launches = settling->launches;
  EXPECT_GT(interval_of(shift_of(0.04, 8, launches), 2.0).low, 0.02);
  EXPECT_LE(interval_of(shift_of(0.04, 8, launches - 1), 2.0).low, 0.02);
}

TEST(Settling, IsHopelessAtTheToleranceItself) {
  EXPECT_EQ(launches_to_settle(shift_of(0.02, 8, 8), 2.0, -0.02, 0.02), std::nullopt);
}

}  // namespace
}  // namespace linkgain
