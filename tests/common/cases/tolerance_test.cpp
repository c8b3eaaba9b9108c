#include "linkgain/cases/tolerance.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace linkgain::test {
namespace {

TEST(Tolerance, BoundsTheLogOfTheTime) {
  const Tolerance both{-0.1, 0.25};
  EXPECT_DOUBLE_EQ(log_lower(both), std::log(0.9));
  EXPECT_DOUBLE_EQ(log_upper(both), std::log(1.25));
  const Tolerance none{std::nullopt, std::nullopt};
  EXPECT_EQ(log_lower(none), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(log_upper(none), std::numeric_limits<double>::infinity());
}

TEST(Tolerance, IsReadable) {
  EXPECT_EQ(readable_tolerance({}), "±5 %");
  EXPECT_EQ(readable_tolerance({-0.1, 0.025}), "-10 to +2.5 %");
  EXPECT_EQ(readable_tolerance({std::nullopt, 0.05}), "at most +5 %");
  EXPECT_EQ(readable_tolerance({-0.05, std::nullopt}), "at least -5 %");
  EXPECT_EQ(readable_tolerance({std::nullopt, std::nullopt}), "unbounded");
}

}  // namespace
}  // namespace linkgain::test
