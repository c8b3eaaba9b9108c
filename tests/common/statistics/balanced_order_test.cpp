#include "linkgain/statistics/balanced_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <stdexcept>
#include <vector>

namespace linkgain::test {
namespace {

TEST(BalancedOrder, IsAPermutationAndItsMirrorImageByTurns) {
  BalancedOrder order(4, 7);
  const std::vector<int> forward = order.next();
  EXPECT_THAT(forward, testing::UnorderedElementsAre(0, 1, 2, 3));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(order.next(), std::vector<int>(forward.rbegin(), forward.rend()));
    EXPECT_EQ(order.next(), forward);
  }
}

/// The median of four is that of the second and the third.
TEST(BalancedOrder, GivesAllVariantsTheSameMedianPlaceInFourRounds) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    BalancedOrder order(3, seed);
    std::map<int, std::vector<int>> places;
    for (int place = 0; place < 12;) {
      for (const int variant : order.next()) places[variant].push_back(place++);
    }
    for (const auto& [variant, own] : places) EXPECT_EQ(own[1] + own[2], 11);
  }
}

TEST(BalancedOrder, TakesEveryPermutationEquallyOftenOverTheSeeds) {
  std::map<std::vector<int>, int> counts;
  constexpr int kSeeds = 6000;
  for (int seed = 0; seed < kSeeds; ++seed) {
    ++counts[BalancedOrder(3, static_cast<unsigned>(seed)).next()];
  }
  ASSERT_EQ(counts.size(), 6U);
  double chi_square = 0.0;
  for (const auto& [permutation, count] : counts) {
    chi_square += std::pow(count - kSeeds / 6.0, 2) / (kSeeds / 6.0);
  }
  EXPECT_LT(chi_square, 20.5) << "the 99.9 % point of five degrees of freedom";
}

TEST(BalancedOrder, WorksForOneVariantAndRefusesNone) {
  BalancedOrder order(1, 0);
  EXPECT_THAT(order.next(), testing::ElementsAre(0));
  EXPECT_THAT(order.next(), testing::ElementsAre(0));
  EXPECT_THROW(BalancedOrder(0, 0), std::invalid_argument);
}

std::vector<int> variants_of(const std::vector<Turn>& order) {
  std::vector<int> variants;
  for (const Turn& turn : order) variants.push_back(turn.variant);
  return variants;
}

TEST(ShuffledOrder, HasEachVariantAsOften) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::map<int, std::vector<int>> times;
    for (const auto& [variant, time] : shuffled_order(3, 4, seed)) times[variant].push_back(time);
    ASSERT_EQ(times.size(), 3U);
    for (const auto& [variant, own] : times) EXPECT_THAT(own, testing::ElementsAre(0, 1, 2, 3));
  }
  EXPECT_THAT(variants_of(shuffled_order(1, 2, 0)), testing::ElementsAre(0, 0));
  EXPECT_THROW(shuffled_order(0, 2, 0), std::invalid_argument);
}

TEST(ShuffledOrder, TakesEveryOrderEquallyOftenOverTheSeeds) {
  std::map<std::vector<int>, int> counts;
  constexpr int kSeeds = 6000;
  for (int seed = 0; seed < kSeeds; ++seed) {
    ++counts[variants_of(shuffled_order(2, 2, static_cast<unsigned>(seed)))];
  }
  ASSERT_EQ(counts.size(), 6U);
  double chi_square = 0.0;
  for (const auto& [order, count] : counts) {
    chi_square += std::pow(count - kSeeds / 6.0, 2) / (kSeeds / 6.0);
  }
  EXPECT_LT(chi_square, 20.5) << "the 99.9 % point of five degrees of freedom";
}

}  // namespace
}  // namespace linkgain::test
