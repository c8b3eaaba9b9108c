#include "linkgain/statistics/ratio.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <stdexcept>

#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

using testing::ElementsAre;
using testing::Optional;

using Values = std::vector<double>;
using Decision = StoppingRule::Decision;

/// Times of the other variant where the first took a second each and the log ratios are `logs`.
Values times(const Values& logs) {
  Values result;
  for (const double log : logs) result.push_back(std::exp(log));
  return result;
}

Ratio ratio_of_logs(const Values& logs) {
  return estimate_ratio(Values(logs.size(), 1.0), times(logs));
}

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

TEST(EstimateRatio, IsTheHodgesLehmannEstimateOfTheLogRatios) {
  // Logs ln 2 + {-0.03 … 0.02} in an order without positive correlation; six values, so the
  // interval's ends are the extremes.
  Values logs{-0.03, 0.02, -0.02, 0.01, -0.01, 0.0};
  for (double& log : logs) log += std::log(2.0);
  const Ratio ratio = ratio_of_logs(logs);
  EXPECT_NEAR(ratio.estimate, 2.0 * std::exp(-0.005), 1e-12);
  EXPECT_NEAR(ratio.low.value(), 2.0 * std::exp(-0.03), 1e-12);
  EXPECT_NEAR(ratio.high.value(), 2.0 * std::exp(0.02), 1e-12);
  EXPECT_EQ(ratio.rounds, 6);
  EXPECT_EQ(ratio.rounds_per_group, 1);
  EXPECT_FALSE(ratio.correlated);
}

TEST(EstimateRatio, HasNoIntervalBelowSixRounds) {
  const Ratio ratio = estimate_ratio(Values{1.0, 2.0}, Values{3.0, 6.0});
  EXPECT_DOUBLE_EQ(ratio.estimate, 3.0);
  EXPECT_FALSE(ratio.low || ratio.high);
}

TEST(EstimateRatio, TurnsOverWithTheVariants) {
  const Values first = times({0.1, 0.3, 0.0, 0.2, 0.15, 0.31, 0.05, 0.22});
  const Values other = times({1.0, 0.7, 1.1, 0.9, 1.2, 0.8, 1.3, 0.75});
  const Ratio forward = estimate_ratio(first, other);
  const Ratio backward = estimate_ratio(other, first);
  EXPECT_NEAR(forward.estimate * backward.estimate, 1.0, 1e-12);
  EXPECT_NEAR(forward.low.value() * backward.high.value(), 1.0, 1e-12);
}

TEST(EstimateRatio, CancelsWhatARoundsVariantsShare) {
  // The machine slows down by half over the run, for both alike.
  Values first;
  Values other;
  for (int i = 0; i < 20; ++i) {
    first.push_back(1.0 + 0.025 * i);
    other.push_back(first.back() * (i % 2 == 0 ? 1.499 : 1.501));
  }
  const Ratio ratio = estimate_ratio(first, other);
  EXPECT_NEAR(ratio.estimate, 1.5, 1e-3);
  EXPECT_LT(ratio.relative_half_width().value(), 1e-3);
}

TEST(EstimateRatio, GroupsNeighboursUntilTheyAreUncorrelated) {
  // Blocks of two in turn have no lag-1 correlation: equal and opposite neighbours balance.
  Values logs;
  for (std::size_t i = 0; i < 20; ++i) logs.insert(logs.end(), 2, i % 2 == 0 ? 0.0 : 0.1);
  Values blocks_of_four;
  for (std::size_t i = 0; i < 10; ++i) {
    blocks_of_four.insert(blocks_of_four.end(), 4, i % 2 == 0 ? 0.0 : 0.1);
  }
  ASSERT_NEAR(lag1_autocorrelation(logs), 0.0, 0.03);
  EXPECT_EQ(ratio_of_logs(logs).rounds_per_group, 1);
  const Ratio ratio = ratio_of_logs(blocks_of_four);
  EXPECT_EQ(ratio.rounds_per_group, 2) << "pairs of a block of four behave like a block of two";
  EXPECT_EQ(ratio.rounds, 40);
  EXPECT_FALSE(ratio.correlated);
  EXPECT_NEAR(ratio.estimate, std::exp(0.05), 1e-12);
}

TEST(EstimateRatio, SaysWhereTooFewRoundsAreLeftToGroup) {
  Values rising;
  for (int i = 0; i < 45; ++i) rising.push_back(0.01 * i);
  const Ratio ratio = ratio_of_logs(rising);
  EXPECT_EQ(ratio.rounds_per_group, 4) << "11 groups of 4; 5 of 8 would be too few";
  EXPECT_TRUE(ratio.correlated);
  rising.resize(19);
  EXPECT_EQ(ratio_of_logs(rising).rounds_per_group, 1) << "9 groups of 2 would be too few";
  EXPECT_TRUE(ratio_of_logs(rising).correlated);
  rising.push_back(0.19);
  EXPECT_EQ(ratio_of_logs(rising).rounds_per_group, 2) << "10 groups are enough";
}

TEST(EstimateRatio, RefusesWhatHasNoRatio) {
  EXPECT_THROW(estimate_ratio(Values{1.0}, Values{1.0, 2.0}), std::invalid_argument);
  EXPECT_THROW(estimate_ratio(Values{}, Values{}), std::invalid_argument);
  EXPECT_THROW(estimate_ratio(Values{0.0}, Values{1.0}), std::invalid_argument);
  EXPECT_THROW(estimate_ratio(Values{1.0}, Values{-1.0}), std::invalid_argument);
  EXPECT_THROW(estimate_ratio(Values{1.0}, Values{std::nan("")}), std::invalid_argument);
  EXPECT_THROW(estimate_ratio(Values{1.0}, Values{HUGE_VAL}), std::invalid_argument);
}

TEST(CombineLaunches, IsTheMeanOfTheLogsWithTheTInterval) {
  std::vector<Ratio> launches;
  for (const double log : {0.1, 0.2, 0.3, 0.4, 0.5}) {
    launches.push_back(with_interval(std::exp(log), 0.001));
    launches.back().rounds = 20;
  }
  launches.front().correlated = true;
  const Ratio ratio = combine_launches(launches);
  EXPECT_NEAR(ratio.estimate, std::exp(0.3), 1e-12);
  // t(0.975; 4) = 2.776445, standard error 0.1 sqrt(2.5 / 5).
  EXPECT_NEAR(ratio.relative_half_width().value(), 2.776445 * 0.1 * std::sqrt(0.5), 1e-7);
  EXPECT_EQ(ratio.rounds, 100);
  EXPECT_FALSE(ratio.correlated) << "rounds correlate within a launch, launches are independent";
}

TEST(CombineLaunches, PassesASingleOneThroughAndRefusesNone) {
  const std::vector<Ratio> one{with_interval(3.0, 0.01)};
  EXPECT_EQ(combine_launches(one).low, one.front().low);
  EXPECT_EQ(combine_launches(one).estimate, 3.0);
  EXPECT_THROW(combine_launches({}), std::invalid_argument);
}

std::vector<int> looks(const StoppingRule& rule, int count) {
  std::vector<int> rounds;
  for (int look = 0; look < count; ++look) rounds.push_back(rule.rounds_at_look(look));
  return rounds;
}

StoppingRule rule_with(int first_look, int most_rounds) {
  StoppingRule::Limits limits;
  limits.first_look = first_look;
  limits.most_rounds = most_rounds;
  return StoppingRule(limits);
}

TEST(StoppingRule, LooksAfterTimesOneAndAHalf) {
  EXPECT_THAT(looks(rule_with(20, 230), 8), ElementsAre(20, 30, 45, 68, 102, 153, 230, 230));
  EXPECT_THAT(looks(rule_with(20, 100), 6), ElementsAre(20, 30, 45, 68, 100, 100));
  EXPECT_THAT(looks(rule_with(6, 230), 5), ElementsAre(6, 9, 14, 21, 32));
  EXPECT_THAT(looks(rule_with(1, 230), 5), ElementsAre(1, 2, 3, 5, 8));
  EXPECT_THAT(looks(rule_with(300, 230), 2), ElementsAre(230, 230));
  EXPECT_EQ(rule_with(20, 2'000'000'000).rounds_at_look(1000), 2'000'000'000);
}

TEST(StoppingRule, ConvergesWhenEveryIntervalIsNarrowEnough) {
  const StoppingRule rule = rule_with(20, 230);
  const Ratio narrow = with_interval(12.0, 0.0099);
  const Ratio wide = with_interval(12.0, 0.0101);
  EXPECT_EQ(rule.decide(0, std::array{narrow}, Seconds{1}), Decision::converged);
  EXPECT_EQ(rule.decide(0, std::array{narrow, narrow}, Seconds{1}), Decision::converged);
  EXPECT_EQ(rule.decide(0, std::array{wide}, Seconds{1}), Decision::go_on);
  EXPECT_EQ(rule.decide(0, std::array{narrow, wide}, Seconds{1}), Decision::go_on);
  EXPECT_EQ(rule.decide(0, {}, Seconds{1}), Decision::converged) << "a single variant has no ratio";
}

TEST(StoppingRule, NeedsAnIntervalThatIsNotDoubtful) {
  const StoppingRule rule = rule_with(20, 230);
  Ratio correlated = with_interval(12.0, 0.001);
  correlated.correlated = true;
  EXPECT_EQ(rule.decide(0, std::array{correlated}, Seconds{1}), Decision::go_on);
  EXPECT_EQ(rule.decide(0, std::array{Ratio{}}, Seconds{1}), Decision::go_on);
}

TEST(StoppingRule, IsBlindToSignificance) {
  const StoppingRule rule = rule_with(20, 230);
  for (const double half_width : {0.001, 0.009, 0.011, 0.5}) {
    const Ratio same = with_interval(1.0, half_width);
    const Ratio different = with_interval(12.0, half_width);
    for (int look = 0; look < 7; ++look) {
      EXPECT_EQ(rule.decide(look, std::array{same}, Seconds{1}),
                rule.decide(look, std::array{different}, Seconds{1}));
    }
  }
}

TEST(StoppingRule, EndsAtTheLastRoundUnlessConverged) {
  const StoppingRule rule = rule_with(20, 100);
  const Ratio wide = with_interval(12.0, 0.5);
  EXPECT_EQ(rule.decide(3, std::array{wide}, Seconds{1}), Decision::go_on);
  EXPECT_EQ(rule.decide(4, std::array{wide}, Seconds{1}), Decision::out_of_rounds);
  EXPECT_EQ(rule.decide(4, std::array{with_interval(12.0, 0.001)}, Seconds{1}),
            Decision::converged);
}

TEST(StoppingRule, EndsWhereTheNextLookWouldTakeTooLong) {
  StoppingRule::Limits limits;
  limits.most_time = Seconds{3.0};
  const StoppingRule rule(limits);
  const Ratio wide = with_interval(12.0, 0.5);
  // 20 rounds took 2 s: 30 will have taken 3 s, 31/30 of that would be too much.
  EXPECT_EQ(rule.decide(0, std::array{wide}, Seconds{1.999}), Decision::go_on);
  EXPECT_EQ(rule.decide(0, std::array{wide}, Seconds{2.001}), Decision::out_of_time);
  EXPECT_EQ(rule.decide(1, std::array{wide}, Seconds{1.999}), Decision::go_on);
  EXPECT_EQ(rule.decide(0, std::array{with_interval(12.0, 0.001)}, Seconds{100}),
            Decision::converged);
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
  EXPECT_THAT(order.next(), ElementsAre(0));
  EXPECT_THAT(order.next(), ElementsAre(0));
  EXPECT_THROW(BalancedOrder(0, 0), std::invalid_argument);
}

}  // namespace
}  // namespace linkgain
