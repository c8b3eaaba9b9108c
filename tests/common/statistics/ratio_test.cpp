#include "linkgain/statistics/ratio.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <stdexcept>

namespace linkgain {
namespace {

using testing::Optional;

Ratio with_interval(double estimate, double half_width) {
  Ratio ratio;
  ratio.estimate = estimate;
  ratio.low = estimate * std::exp(-half_width);
  ratio.high = estimate * std::exp(half_width);
  return ratio;
}

TEST(LessTime, IsThePagesShare) {
  EXPECT_NEAR(less_time(131.4367 / 101.9003), 0.2247, 1e-4);
  EXPECT_DOUBLE_EQ(less_time(2.0), 0.5);
  EXPECT_DOUBLE_EQ(less_time(1.0), 0.0);
  EXPECT_DOUBLE_EQ(less_time(0.5), -1.0);
}

TEST(RelativeHalfWidth, IsHalfTheLogOfHighOverLow) {
  EXPECT_THAT(with_interval(3.0, 0.02).relative_half_width(),
              Optional(testing::DoubleNear(0.02, 1e-12)));
  EXPECT_EQ(Ratio{}.relative_half_width(), std::nullopt);
}

TEST(BalancedOrder, MirrorsEverySecondRound) {
  BalancedOrder order(4, 7);
  for (int i = 0; i < 50; ++i) {
    std::vector<int> forward = order.next();
    EXPECT_THAT(forward, testing::UnorderedElementsAre(0, 1, 2, 3));
    EXPECT_EQ(order.next(), std::vector<int>(forward.rbegin(), forward.rend()));
  }
}

TEST(BalancedOrder, DependsOnTheSeedAlone) {
  const auto orders = [](unsigned seed) {
    BalancedOrder order(5, seed);
    std::vector<std::vector<int>> result;
    for (int i = 0; i < 20; ++i) result.push_back(order.next());
    return result;
  };
  EXPECT_EQ(orders(1), orders(1));
  EXPECT_NE(orders(1), orders(2));
}

TEST(BalancedOrder, TakesEveryPermutationEquallyOften) {
  std::map<std::vector<int>, int> counts;
  BalancedOrder order(3, 42);
  constexpr int kDraws = 6000;
  for (int i = 0; i < kDraws; ++i) {
    ++counts[order.next()];
    order.next();
  }
  ASSERT_EQ(counts.size(), 6U);
  double chi_square = 0.0;
  for (const auto& [permutation, count] : counts) {
    chi_square += std::pow(count - kDraws / 6.0, 2) / (kDraws / 6.0);
  }
  EXPECT_LT(chi_square, 20.5) << "the 99.9 % point of five degrees of freedom";
}

TEST(BalancedOrder, WorksForOneVariantAndRefusesNone) {
  BalancedOrder order(1, 0);
  EXPECT_THAT(order.next(), testing::ElementsAre(0));
  EXPECT_THAT(order.next(), testing::ElementsAre(0));
  EXPECT_THROW(BalancedOrder(0, 0), std::invalid_argument);
}

}  // namespace
}  // namespace linkgain
