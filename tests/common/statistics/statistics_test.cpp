#include "linkgain/statistics/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>

namespace linkgain {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;

using Values = std::vector<double>;

TEST(Median, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median(Values{7}), 7.0);
  EXPECT_EQ(median(Values{9, 1, 5}), 5.0);
  EXPECT_EQ(median(Values{9, 1, 5, 2}), 3.5);
  EXPECT_THROW(median(Values{}), std::invalid_argument);
}

TEST(Quartiles, LieBetweenNeighbours) {
  const Quartiles of_five = quartiles(Values{5, 1, 4, 2, 3});
  EXPECT_EQ(of_five.low, 2.0);
  EXPECT_EQ(of_five.high, 4.0);
  const Quartiles of_four = quartiles(Values{4, 1, 2, 3});
  EXPECT_EQ(of_four.low, 1.75);
  EXPECT_EQ(of_four.high, 3.25);
  EXPECT_EQ(quartiles(Values{7}).low, 7.0);
  EXPECT_EQ(quartiles(Values{7}).high, 7.0);
  EXPECT_THROW(quartiles(Values{}), std::invalid_argument);
}

TEST(SignedRankDistribution, OfThreeValuesCountedByHand) {
  // Of the 8 sign patterns, T+ = 3 comes from {3} and {1, 2}, every other sum from one pattern.
  EXPECT_THAT(signed_rank_distribution(3),
              ElementsAre(0.125, 0.25, 0.375, 0.625, 0.75, 0.875, 1.0));
  EXPECT_THAT(signed_rank_distribution(0), ElementsAre(1.0));
  EXPECT_THROW(signed_rank_distribution(-1), std::invalid_argument);
}

TEST(SignedRankDistribution, AgreesWithCountingEverySignPattern) {
  constexpr int n = 11;
  Values counts(n * (n + 1) / 2 + 1, 0.0);
  for (unsigned pattern = 0; pattern < (1U << n); ++pattern) {
    std::size_t sum = 0;
    for (unsigned rank = 1; rank <= n; ++rank) {
      if (pattern >> (rank - 1) & 1U) sum += rank;
    }
    counts[sum] += 1.0;
  }
  const Values distribution = signed_rank_distribution(n);
  ASSERT_EQ(distribution.size(), counts.size());
  double cumulated = 0.0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    cumulated += counts[k];
    EXPECT_DOUBLE_EQ(distribution[k], cumulated / (1U << n)) << k;
  }
}

TEST(SignedRankDistribution, HasThePublishedCriticalValues) {
  // Largest k with two-sided P <= 0.05, as in Wilcoxon and Wilcox, Some Rapid Approximate
  // Statistical Procedures, 1964, and in most textbooks since.
  const std::vector<std::pair<int, std::size_t>> critical{
      {6, 0},   {7, 2},   {8, 3},   {9, 5},   {10, 8},  {11, 10}, {12, 13}, {13, 17},
      {14, 21}, {15, 25}, {16, 29}, {17, 34}, {18, 40}, {19, 46}, {20, 52}, {25, 89}};
  for (const auto& [n, k] : critical) {
    const Values distribution = signed_rank_distribution(n);
    EXPECT_LE(distribution[k], 0.025) << n;
    EXPECT_GT(distribution[k + 1], 0.025) << n;
  }
  EXPECT_GT(signed_rank_distribution(5)[0], 0.025);
}

TEST(SignedRankDistribution, StaysExactForSeveralHundredValues) {
  constexpr int n = 400;
  const Values distribution = signed_rank_distribution(n);
  const std::size_t most = n * (n + 1) / 2;
  ASSERT_EQ(distribution.size(), most + 1);
  EXPECT_DOUBLE_EQ(distribution[0], std::ldexp(1.0, -n));
  EXPECT_DOUBLE_EQ(distribution[2], std::ldexp(3.0, -n));
  EXPECT_NEAR(distribution[most], 1.0, 1e-12);
  for (std::size_t k = 0; k < most; k += 97) {
    EXPECT_NEAR(distribution[k] + distribution[most - k - 1], 1.0, 1e-12) << k;
  }
}

// The first of the examples of Welch's test on Wikipedia: t = -2.46 with 24.9 degrees of freedom.
TEST(WelchDifference, IsThePublishedOne) {
  const Values first{27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1,
                     21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4};
  const Values other{27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0,
                     24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4};
  const SignedRankEstimate difference = welch_difference(first, other);
  EXPECT_NEAR(difference.estimate, 2.167, 1e-3);
  const double half_width = difference.high.value() - difference.estimate;
  EXPECT_NEAR(difference.estimate / half_width, 2.46 / 2.064, 0.005);
  EXPECT_NEAR(difference.estimate - difference.low.value(), half_width, 1e-12);
}

TEST(WelchDifference, NeedsTwoValuesOnEitherSideForAnInterval) {
  const Values three{1, 2, 3};
  EXPECT_DOUBLE_EQ(welch_difference(three, Values{12}).estimate, 10.0);
  EXPECT_FALSE(welch_difference(three, Values{12}).low);
  EXPECT_TRUE(welch_difference(three, Values{12, 13}).high);
  EXPECT_THROW(welch_difference(Values{}, three), std::invalid_argument);
  const SignedRankEstimate same = welch_difference(Values{1, 1}, Values{3, 3});
  EXPECT_DOUBLE_EQ(same.low.value(), 2.0);
  EXPECT_DOUBLE_EQ(same.high.value(), 2.0);
}

// Five blocks that scatter four times as much as the twenty of the other step, as of two GPUs at
// their limit of power; and as much; and less.
TEST(WelchDifference, CoversWhereOneScattersMore) {
  std::mt19937 generator(20);
  for (const double scatter : {4.0, 1.0, 0.25}) {
    constexpr int kTrials = 4000;
    int covered = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const auto drawn = [&](std::size_t count, double deviation) {
        std::normal_distribution<double> noise(0.0, deviation);
        Values values(count);
        std::generate(values.begin(), values.end(), [&] { return noise(generator); });
        return values;
      };
      const SignedRankEstimate difference = welch_difference(drawn(5, scatter), drawn(20, 1.0));
      covered += *difference.low <= 0.0 && 0.0 <= *difference.high ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(covered) / kTrials, 0.95, 0.015) << scatter;
  }
}

TEST(HodgesLehmann, OfThreeValuesByHand) {
  // Walsh averages of 1, 2, 4: 1, 1.5, 2, 2.5, 3, 4.
  const SignedRankEstimate result = hodges_lehmann(Values{4, 1, 2});
  EXPECT_DOUBLE_EQ(result.estimate, 2.25);
  EXPECT_FALSE(result.low || result.high);
}

TEST(HodgesLehmann, HasAnIntervalFromSixValuesOn) {
  EXPECT_FALSE(hodges_lehmann(Values{1, 2, 3, 4, 5}).low);
  // k = 1 (coverage 1 - 2/64 = 0.96875): the extreme Walsh averages are the extreme values.
  const SignedRankEstimate six = hodges_lehmann(Values{3, 1, 6, 2, 5, 4});
  EXPECT_DOUBLE_EQ(six.estimate, 3.5);
  EXPECT_THAT(six.low, testing::Optional(DoubleEq(1.0)));
  EXPECT_THAT(six.high, testing::Optional(DoubleEq(6.0)));
  EXPECT_TRUE(hodges_lehmann(Values{1, 2, 3, 4, 5, 6}, 0.96875).low) << "coverage is just enough";
  EXPECT_FALSE(hodges_lehmann(Values{1, 2, 3, 4, 5, 6}, 0.97).low);
}

TEST(HodgesLehmann, OfTenValuesByHand) {
  // The critical value is 8, so the 9th Walsh average from each end. Of 1 … 10 the smallest are
  // 1, 1.5, 2, 2, 2.5, 2.5, 3, 3, 3; the largest mirror them.
  const SignedRankEstimate result = hodges_lehmann(Values{10, 2, 3, 4, 5, 6, 7, 8, 9, 1});
  EXPECT_DOUBLE_EQ(result.estimate, 5.5);
  EXPECT_THAT(result.low, testing::Optional(DoubleEq(3.0)));
  EXPECT_THAT(result.high, testing::Optional(DoubleEq(8.0)));
}

TEST(HodgesLehmann, OfThePublishedDepressionScores) {
  // Hollander, Wolfe and Chicken, examples 3.1, 3.3 and 3.4: differences of the Hamilton depression
  // scale factor IV of nine patients; estimate -0.46, 96 % interval from -0.786 to -0.010.
  const Values before{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
  const Values after{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  Values differences;
  for (std::size_t i = 0; i < before.size(); ++i) differences.push_back(after[i] - before[i]);
  const SignedRankEstimate result = hodges_lehmann(differences);
  EXPECT_NEAR(result.estimate, -0.46, 1e-9);
  EXPECT_NEAR(result.low.value(), -0.786, 1e-9);
  EXPECT_NEAR(result.high.value(), -0.010, 1e-9);
}

TEST(HodgesLehmann, FollowsShiftScaleSignAndNotOrder) {
  std::mt19937_64 generator(7);
  std::exponential_distribution<double> exponential;
  Values values(23);
  for (double& value : values) value = exponential(generator);
  const SignedRankEstimate plain = hodges_lehmann(values);
  Values changed = values;
  std::shuffle(changed.begin(), changed.end(), generator);
  for (double& value : changed) value = 5.0 - 2.0 * value;
  const SignedRankEstimate result = hodges_lehmann(changed);
  EXPECT_NEAR(result.estimate, 5.0 - 2.0 * plain.estimate, 1e-12);
  EXPECT_NEAR(result.low.value(), 5.0 - 2.0 * plain.high.value(), 1e-12);
  EXPECT_NEAR(result.high.value(), 5.0 - 2.0 * plain.low.value(), 1e-12);
}

TEST(HodgesLehmann, RefusesNothingAndImpossibleConfidence) {
  EXPECT_THROW(hodges_lehmann(Values{}), std::invalid_argument);
  EXPECT_THROW(hodges_lehmann(Values{1}, 0.0), std::invalid_argument);
  EXPECT_THROW(hodges_lehmann(Values{1}, 1.0), std::invalid_argument);
}

/// Shares of 2000 samples of n values whose 95 % interval lies wholly above or below `centre`.
struct Misses {
  double above = 0.0;
  double below = 0.0;
};
Misses misses(int n, double centre, const std::function<double(std::mt19937_64&)>& draw) {
  constexpr int kTrials = 2000;
  std::mt19937_64 generator(20240607);
  Misses result;
  Values values(static_cast<std::size_t>(n));
  for (int trial = 0; trial < kTrials; ++trial) {
    for (double& value : values) value = draw(generator);
    const SignedRankEstimate estimate = hodges_lehmann(values);
    if (estimate.low.value() > centre) result.above += 1.0 / kTrials;
    if (estimate.high.value() < centre) result.below += 1.0 / kTrials;
  }
  return result;
}

// Exact coverage at n = 20 is 0.9516; 0.015 is three standard errors of 2000 samples.
TEST(HodgesLehmannCoverage, Is95PercentForNormalNoise) {
  std::normal_distribution<double> normal(3.0, 0.1);
  const Misses result = misses(20, 3.0, [&](auto& generator) { return normal(generator); });
  EXPECT_NEAR(result.above + result.below, 0.05, 0.015);
  EXPECT_NEAR(result.above, result.below, 0.015);
}

TEST(HodgesLehmannCoverage, Is95PercentForHeavyTails) {
  std::cauchy_distribution<double> cauchy(3.0, 0.1);
  const Misses result = misses(20, 3.0, [&](auto& generator) { return cauchy(generator); });
  EXPECT_NEAR(result.above + result.below, 0.05, 0.015);
  EXPECT_NEAR(result.above, result.below, 0.015);
}

TEST(HodgesLehmannCoverage, StaysNear95PercentForOneSidedNoise) {
  // The pseudo-median of the unit exponential: half the median of the Gamma(2) distribution, whose
  // equation (1 + m) exp(-m) = 1/2 has the solution m = 1.678347.
  constexpr double kPseudoMedian = 0.5 * 1.6783469900166608;
  std::exponential_distribution<double> exponential;
  const Misses result =
      misses(20, kPseudoMedian, [&](auto& generator) { return exponential(generator); });
  EXPECT_NEAR(result.above + result.below, 0.05, 0.02);
}

TEST(StudentMean, ByHand) {
  // Mean 3, standard error sqrt(2.5 / 5), t(0.975; 4) = 2.776445.
  const SignedRankEstimate result = student_mean(Values{1, 2, 3, 4, 5});
  EXPECT_DOUBLE_EQ(result.estimate, 3.0);
  EXPECT_NEAR(result.low.value(), 3.0 - 2.776445 * std::sqrt(0.5), 1e-6);
  EXPECT_NEAR(result.high.value(), 3.0 + 2.776445 * std::sqrt(0.5), 1e-6);
  // t(0.95; 4) = 2.131847 for two-sided 90 %.
  EXPECT_NEAR(student_mean(Values{1, 2, 3, 4, 5}, 0.9).high.value(),
              3.0 + 2.131847 * std::sqrt(0.5), 1e-6);
}

TEST(StudentMean, NeedsTwoValuesForAnInterval) {
  const SignedRankEstimate result = student_mean(Values{4});
  EXPECT_EQ(result.estimate, 4.0);
  EXPECT_FALSE(result.low || result.high);
  EXPECT_THROW(student_mean(Values{}), std::invalid_argument);
  EXPECT_THROW(student_mean(Values{1, 2}, 95.0), std::invalid_argument);
}

TEST(Lag1Autocorrelation, ByHand) {
  EXPECT_DOUBLE_EQ(lag1_autocorrelation(Values{1, 2, 3, 4, 5}), 0.4);
  EXPECT_DOUBLE_EQ(lag1_autocorrelation(Values{1, -1, 1, -1}), -0.75);
}

TEST(Lag1Autocorrelation, IsZeroWhereThereIsNothingToCorrelate) {
  EXPECT_EQ(lag1_autocorrelation(Values{1, 2}), 0.0);
  EXPECT_EQ(lag1_autocorrelation(Values{}), 0.0);
  // The rounded mean of 0.1 a hundred times is not 0.1: squares of rounding errors are no variance.
  EXPECT_EQ(lag1_autocorrelation(Values(100, 0.1)), 0.0);
}

TEST(GroupMeans, DropTheIncompleteLastGroup) {
  EXPECT_THAT(group_means(Values{1, 2, 3, 5, 9}, 2), ElementsAre(1.5, 4.0));
  EXPECT_THAT(group_means(Values{1, 2}, 1), ElementsAre(1.0, 2.0));
  EXPECT_THAT(group_means(Values{1, 2}, 3), IsEmpty());
  EXPECT_THROW(group_means(Values{1, 2}, 0), std::invalid_argument);
}

}  // namespace
}  // namespace linkgain
