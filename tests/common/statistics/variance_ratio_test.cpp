#include "linkgain/statistics/variance_ratio.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "linkgain/statistics/student_t.hpp"

namespace linkgain {
namespace {

TEST(VarianceRatio, AgreesWithTheTables) {
  // Abramowitz and Stegun, table 26.9: upper 5 % and 1 % points.
  EXPECT_NEAR(variance_ratio_upper_tail(5.05, 5, 5), 0.05, 1e-4);
  EXPECT_NEAR(variance_ratio_upper_tail(3.33, 5, 10), 0.05, 2e-4);
  EXPECT_NEAR(variance_ratio_upper_tail(161.4, 1, 1), 0.05, 1e-4);
  EXPECT_NEAR(variance_ratio_upper_tail(5.64, 5, 10), 0.01, 1e-4);
}

TEST(VarianceRatio, IsTheSquareOfStudentsT) {
  for (const double t : {0.5, 2.0, 6.0}) {
    EXPECT_NEAR(variance_ratio_upper_tail(t * t, 1, 7), 2.0 * student_t_upper_tail(t, 7), 1e-12);
  }
}

TEST(VarianceRatio, HasEndsAndRefusesNonsense) {
  EXPECT_EQ(variance_ratio_upper_tail(0.0, 3, 4), 1.0);
  EXPECT_EQ(variance_ratio_upper_tail(std::numeric_limits<double>::infinity(), 3, 4), 0.0);
  EXPECT_THROW(variance_ratio_upper_tail(1.0, 0, 4), std::invalid_argument);
  EXPECT_THROW(variance_ratio_upper_tail(1.0, 4, 0), std::invalid_argument);
  EXPECT_THROW(variance_ratio_upper_tail(-1.0, 4, 4), std::invalid_argument);
}

}  // namespace
}  // namespace linkgain
