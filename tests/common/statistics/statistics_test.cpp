#include "linkgain/statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

namespace linkgain::test {
namespace {

using Values = std::vector<double>;

TEST(Median, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median(Values{7}), 7.0);
  EXPECT_EQ(median(Values{9, 1, 5}), 5.0);
  EXPECT_EQ(median(Values{9, 1, 5, 2}), 3.5);
  EXPECT_THROW(median(Values{}), std::invalid_argument);
}

TEST(Quartiles, LieBetweenNeighbours) {
  EXPECT_EQ(quartiles(Values{5, 1, 4, 2, 3}), (Interval{2.0, 4.0}));
  EXPECT_EQ(quartiles(Values{4, 1, 2, 3}), (Interval{1.75, 3.25}));
  EXPECT_EQ(quartiles(Values{7}), (Interval{7.0, 7.0}));
  EXPECT_THROW(quartiles(Values{}), std::invalid_argument);
}

TEST(Interval, HoldsItsEnds) {
  constexpr Interval kInterval{-1.0, 2.0};
  EXPECT_TRUE(kInterval.holds(-1.0) && kInterval.holds(0.0) && kInterval.holds(2.0));
  EXPECT_FALSE(kInterval.holds(-1.1) || kInterval.holds(2.1));
  EXPECT_EQ(low_of(kInterval), -1.0);
  EXPECT_EQ(high_of(kInterval), 2.0);
  EXPECT_EQ(low_of({}), std::nullopt);
  EXPECT_EQ(high_of({}), std::nullopt);
}

// Standard deviation 1, so that the mean's error is 1/sqrt(3); 4.302653 is Student's t of 2.
TEST(StudentMean, HasAnIntervalFromTwoValuesOn) {
  const Estimate mean = student_mean(Values{1, 2, 3});
  EXPECT_EQ(mean.replicates, 3);
  EXPECT_EQ(mean.value, 2.0);
  ASSERT_TRUE(mean.interval.has_value());
  EXPECT_NEAR(mean.interval->low, 2.0 - 4.302653 / std::sqrt(3.0), 1e-6);
  EXPECT_NEAR(mean.interval->high, 2.0 + 4.302653 / std::sqrt(3.0), 1e-6);
  EXPECT_TRUE(mean.may_be(0.0));
  EXPECT_FALSE(mean.may_be(5.0));
  // Of two values it is the half difference times Student's t of 1, 12.706205.
  const Estimate of_two = student_mean(Values{1, 3});
  ASSERT_TRUE(of_two.interval.has_value());
  EXPECT_NEAR(of_two.interval->high, 2.0 + 12.706205, 1e-5);
  EXPECT_EQ(student_mean(Values{5}), (Estimate{.value = 5.0, .replicates = 1}));
  EXPECT_FALSE(student_mean(Values{5}).may_be(5.0)) << "there is no interval";
}

TEST(LessTime, IsTheGuidesShare) {
  EXPECT_NEAR(less_time(131.4367 / 101.9003), 0.2247, 1e-4);
  EXPECT_DOUBLE_EQ(less_time(2.0), 0.5);
  EXPECT_DOUBLE_EQ(less_time(1.0), 0.0);
  EXPECT_DOUBLE_EQ(less_time(0.5), -1.0);
}

TEST(RelativeHalfWidth, IsHalfTheLogOfHighOverLow) {
  const Interval interval{3.0 * std::exp(-0.02), 3.0 * std::exp(0.02)};
  EXPECT_NEAR(relative_half_width({.value = 3.0, .interval = interval}).value(), 0.02, 1e-12);
  EXPECT_EQ(relative_half_width(Estimate{}), std::nullopt);
}

}  // namespace
}  // namespace linkgain::test
