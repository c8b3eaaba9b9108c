#include "linkgain/statistics/distributions.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace linkgain::test {
namespace {

TEST(StudentTQuantile, AgreesWithTheTables) {
  // Abramowitz and Stegun, table 26.10, two-sided 0.95 and 0.99.
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.706, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 2), 4.303, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 4), 2.776, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 10), 2.228, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 30), 2.042, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.995, 1), 63.657, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.995, 10), 3.169, 5e-4);
}

TEST(StudentTQuantile, AgreesWithTheClosedForms) {
  for (const double probability : {0.5001, 0.6, 0.9, 0.975, 0.9999, 1.0 - 1e-7}) {
    // One degree of freedom is the Cauchy distribution; two: t = (2p - 1) sqrt(2 / (4 p (1 - p))).
    const double cauchy = std::tan(std::numbers::pi * (probability - 0.5));
    EXPECT_NEAR(student_t_quantile(probability, 1) / cauchy, 1.0, 1e-7) << probability;
    const double two =
        (2.0 * probability - 1.0) * std::sqrt(2.0 / (4.0 * probability * (1.0 - probability)));
    EXPECT_NEAR(student_t_quantile(probability, 2) / two, 1.0, 1e-7) << probability;
  }
}

TEST(StudentTQuantile, ApproachesTheNormalDistribution) {
  EXPECT_NEAR(student_t_quantile(0.975, 1'000'000), 1.959966, 5e-6);
}

TEST(StudentTQuantile, IsAntisymmetric) {
  EXPECT_NEAR(student_t_quantile(0.5, 7), 0.0, 1e-12);
  EXPECT_DOUBLE_EQ(student_t_quantile(0.25, 7), -student_t_quantile(0.75, 7));
}

TEST(StudentTQuantile, RefusesWhatHasNoQuantile) {
  EXPECT_THROW(student_t_quantile(0.0, 3), std::invalid_argument);
  EXPECT_THROW(student_t_quantile(1.0, 3), std::invalid_argument);
  EXPECT_THROW(student_t_quantile(std::nan(""), 3), std::invalid_argument);
  EXPECT_THROW(student_t_quantile(0.975, 0), std::invalid_argument);
}

TEST(StudentTUpperTail, UndoesTheQuantile) {
  for (const int degrees : {1, 2, 7, 40, 500}) {
    for (const double probability : {0.6, 0.975, 0.9999}) {
      const double t = student_t_quantile(probability, degrees);
      EXPECT_NEAR(student_t_upper_tail(t, degrees) / (1.0 - probability), 1.0, 1e-6) << degrees;
      EXPECT_NEAR(student_t_upper_tail(-t, degrees), probability, 1e-9) << degrees;
    }
  }
}

TEST(StudentTUpperTail, KeepsItsDigitsFarOut) {
  // With two degrees of freedom the tail is (1 - t / sqrt(2 + t^2)) / 2, about 1 / (2 t^2).
  EXPECT_NEAR(student_t_upper_tail(1e6, 2) / 5e-13, 1.0, 1e-6);
  EXPECT_EQ(student_t_upper_tail(0.0, 5), 0.5);
  EXPECT_EQ(student_t_upper_tail(std::numeric_limits<double>::infinity(), 5), 0.0);
  EXPECT_EQ(student_t_upper_tail(-std::numeric_limits<double>::infinity(), 5), 1.0);
  EXPECT_THROW(student_t_upper_tail(1.0, 0), std::invalid_argument);
  EXPECT_THROW(student_t_upper_tail(std::nan(""), 3), std::invalid_argument);
}

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
}  // namespace linkgain::test
