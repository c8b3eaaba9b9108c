#include "linkgain/statistics/launch_shift.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

namespace linkgain::test {
namespace {

using ::testing::Optional;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Makes a shift whose sides share one deviation.
LaunchShift shift_of(double log, int before, int after, const LaunchDeviation& deviation) {
  return {log, before, after, {{.deviation = deviation, .before = 1.0, .after = 1.0}}};
}

LaunchShift shift_of(double log, int before, int after, double deviation = 0.01) {
  return shift_of(log, before, after, LaunchDeviation{deviation, 28, false});
}

LaunchMean side(double time, int launches, std::optional<LaunchDeviation> deviation) {
  return {Seconds{time}, launches, deviation};
}

/// Expects Welch's numbers: variances of 1e-4 / 4 and 4e-4 / 8 add up to 7.5e-5, with 7.5e-5^2 /
/// (2.5e-5^2 / 3 + 5e-5^2 / 7) = 9.95 degrees of freedom, rounded down.
TEST(ShiftBetween, HasTheDeviationOfEachSide) {
  const LaunchMean before = side(1.0, 4, LaunchDeviation{0.01, 3});
  const LaunchMean after = side(1.1, 8, LaunchDeviation{0.02, 7});
  const LaunchShift shift = shift_between(before, after).value();
  EXPECT_DOUBLE_EQ(shift.log, std::log(1.1));
  EXPECT_DOUBLE_EQ(standard_error(shift), std::sqrt(7.5e-5));
  EXPECT_EQ(degrees_of_freedom(shift), 9);
  const LaunchShift back = shift_between(after, before).value();
  EXPECT_DOUBLE_EQ(back.log, -shift.log);
  EXPECT_DOUBLE_EQ(standard_error(back), standard_error(shift));
}

TEST(ShiftBetween, SharesOneDeviationWhereASideHasTooFewLaunches) {
  const LaunchShift two =
      shift_between(side(1.0, 8, LaunchDeviation{0.01, 7}), side(1.0, 2, LaunchDeviation{0.02, 1}))
          .value();
  EXPECT_DOUBLE_EQ(deviation_of(two), std::sqrt((7 * 1e-4 + 4e-4) / 8.0));
  EXPECT_EQ(degrees_of_freedom(two), 8);
  for (const auto& [before, after, shared] :
       {std::tuple{2, 2, false}, {2, 3, true}, {3, 2, true}, {3, 3, false}, {3, 8, false}}) {
    const auto of = [](int launches) {
      return side(1.0, launches, LaunchDeviation{0.01, launches - 1});
    };
    EXPECT_EQ(shift_between(of(before), of(after))->parts.size(), shared ? 1U : 2U)
        << before << " and " << after;
  }
}

TEST(ShiftBetween, IsNotKnownWhereLaunchesOfASideTellNothing) {
  const LaunchMean known = side(1.0, 8, LaunchDeviation{0.01, 7});
  for (const int launches : {2, 8}) {
    EXPECT_FALSE(shift_between(known, side(1.0, launches, {})))
        << "they agree, by chance or edited";
    EXPECT_FALSE(shift_between(side(1.0, launches, {}), known));
  }
  for (const auto& deviation : {std::optional<LaunchDeviation>(), known.deviation}) {
    EXPECT_FALSE(shift_between(known, side(1.0, 1, deviation))) << "like cases have more launches";
    EXPECT_FALSE(shift_between(side(1.0, 1, deviation), known));
  }
  const LaunchDeviation none{0.0, 1};
  EXPECT_FALSE(shift_between(side(1.0, 2, none), side(2.0, 2, none))) << "by chance, 1 in 8";
  EXPECT_TRUE(shift_between(side(1.0, 3, none), side(2.0, 3, none)));
}

/// Adds 1/2 - 1/8 of a launch's variance for a run of two launches beside runs of eight.
TEST(ShiftBetweenRuns, AddsWhatLaunchesOfARunScatterByBeyondTheBaselines) {
  const LaunchMean three = side(1.0, 3, LaunchDeviation{0.01, 2});
  const LaunchMean one = side(1.0, 1, {});
  const LaunchDeviation launch{0.04, 14};
  const auto error = [&](const std::optional<LaunchDeviation>& before, int launches_before,
                         int launches_after) {
    return standard_error(
        *shift_between_runs({three, launches_before, before}, {one, launches_after, launch}));
  };
  const double of_runs = std::sqrt(1e-4 * 4.0 / 3.0);
  EXPECT_DOUBLE_EQ(error(launch, 24, 2), std::sqrt(1e-4 * 4.0 / 3.0 + 16e-4 * 0.375));
  EXPECT_DOUBLE_EQ(error({}, 24, 2), error(launch, 24, 2));
  EXPECT_GT(error(launch, 25, 8), of_runs);
  for (const int before : {6, 24}) {
    EXPECT_DOUBLE_EQ(error(launch, before, 8), of_runs) << "more are no steadier";
    EXPECT_DOUBLE_EQ(error(LaunchDeviation{0.05, 14}, before, 8), of_runs) << "nor these";
  }
  EXPECT_DOUBLE_EQ(error(LaunchDeviation{0.02, 14}, 24, 8),
                   std::sqrt(1e-4 * 4.0 / 3.0 + (16e-4 - 4e-4) / 8.0));
  EXPECT_EQ(shift_between_runs({three, 24, launch}, {three, 6, launch})->parts.size(), 2U)
      << "three runs say themselves how they scatter";
  EXPECT_FALSE(shift_between_runs({three, 24, launch}, {one, 1, launch})) << "a run of one launch";
}

TEST(LaunchShift, CountsTheLaunchesOfBothSides) {
  EXPECT_DOUBLE_EQ(standard_error(shift_of(0.0, 8, 1)), 0.01 * std::sqrt(1.125));
  EXPECT_DOUBLE_EQ(standard_error(shift_of(0.0, 8, 8)), 0.005);
  ShiftQuantiles quantiles;
  const Interval interval = interval_of(shift_of(0.03, 8, 8), quantiles);
  EXPECT_NEAR(interval.low, 0.03 - 2.0484 * 0.005, 1e-6);
  EXPECT_NEAR(interval.high, 0.03 + 2.0484 * 0.005, 1e-6);
}

TEST(LaunchShift, IsNormalWhereTheDeviationIsAssumed) {
  const LaunchShift shift = shift_of(0.03, 2, 2, LaunchDeviation{0.01, std::nullopt});
  ShiftQuantiles quantiles;
  EXPECT_NEAR(interval_of(shift, quantiles).high, 0.03 + 1.959964 * 0.01, 1e-8);
  EXPECT_NEAR(ShiftQuantiles(0.95).at(std::nullopt), 1.644854, 1e-5);
  EXPECT_NEAR(ShiftQuantiles(0.95).at(14), 1.761310, 1e-6);
}

TEST(LaunchShift, TellsTheChanceOfMoreThanABound) {
  const LaunchShift shift = shift_of(0.03, 8, 8);
  EXPECT_DOUBLE_EQ(chance_above(shift, 0.02), student_t_upper_tail(2.0, 28));
  EXPECT_NEAR(chance_below(shift, 0.02), student_t_upper_tail(-2.0, 28), 1e-12);
  for (const auto tail : {chance_above, chance_below}) {
    const double beyond = tail == chance_above ? kInfinite : -kInfinite;
    EXPECT_EQ(tail(shift, beyond), 1.0);
    EXPECT_EQ(tail(shift, -beyond), 0.0);
  }
}

TEST(LaunchShift, IsCertainWithoutDeviation) {
  EXPECT_EQ(chance_above(shift_of(0.03, 2, 2, 0.0), 0.02), 0.0);
  EXPECT_EQ(chance_above(shift_of(0.02, 2, 2, 0.0), 0.02), 1.0);
  EXPECT_EQ(degrees_of_freedom(shift_of(0.02, 2, 2, 0.0)), 1'000'000);
}

/// Compares numbers that are printed in steps of 20 %, whatever the runs agree on.
TEST(LaunchShift, IsNoMoreCertainThanThePrintedDigits) {
  LaunchShift shift = shift_of(0.2, 100, 100, 0.0);
  shift.rounding = rounding_between(0.25, 0.15);
  EXPECT_DOUBLE_EQ(shift.rounding, 0.2);
  EXPECT_EQ(chance_above(shift, shift.log - shift.rounding), 1.0) << "so far they may be off";
  ShiftQuantiles quantiles;
  EXPECT_TRUE(interval_of(shift, quantiles).holds(0.0));
  EXPECT_EQ(chance_above(shift, 0.0), 1.0);
  EXPECT_EQ(chance_below(shift, 0.4), 1.0);
  EXPECT_FALSE(launches_to_settle(shift, quantiles, -0.02, 0.02));
  shift.log = 0.5;
  EXPECT_NEAR(interval_of(shift, quantiles).low, 0.3, 1e-12);
  EXPECT_LT(chance_above(shift, 0.02), 1e-4);
  shift.parts[0].deviation.deviation = 0.1;
  EXPECT_DOUBLE_EQ(standard_error(shift), std::sqrt(0.01 * 0.02 + 0.04 / 6.0))
      << "uniform within half a unit, on each side";
}

std::optional<Settling> settling_of(const LaunchShift& shift) {
  ShiftQuantiles quantiles;
  return launches_to_settle(shift, quantiles, -0.02, 0.02);
}

TEST(Settling, TakesTheFewestLaunchesAfter) {
  // 28 degrees of freedom from 8 launches are 4 each. Half width t(4 (6 + n)) 0.01 sqrt(1/8 + 1/n)
  // of at most 0.01: t = 2.00 and 0.00984 for n = 9, 2.00 and 0.01002 for n = 8.
  EXPECT_THAT(settling_of(shift_of(0.01, 8, 1)), Optional(Settling{9, false}));
}

TEST(Settling, TakesMoreOnBothSidesWhereMoreAfterWouldNotDo) {
  // Even with all launches after, 0.01 t sqrt(1/2) = 0.0139. With n on both sides n = 8: t = 1.97.
  EXPECT_THAT(settling_of(shift_of(0.01, 2, 2)), Optional(Settling{8, true}));
}

TEST(Settling, TakesNoFewerThanThereAre) {
  EXPECT_THAT(settling_of(shift_of(0.01, 2, 20)), Optional(Settling{20, true}));
  EXPECT_THAT(settling_of(shift_of(0.01, 20, 8)), Optional(Settling{8, false}));
}

TEST(Settling, CountsTheDegreesOfFreedomThatLaunchesAdd) {
  // One degree of freedom now, t = 12.7; with n launches after n of them. t(n) 0.005 sqrt(1/2 +
  // 1/n) is 0.01075 for n = 5 and 0.00999 for n = 6.
  const LaunchShift shift = shift_of(0.01, 2, 1, LaunchDeviation{0.005, 1, false});
  EXPECT_THAT(settling_of(shift), Optional(Settling{6, false}));
}

/// Gives each side degrees of freedom by its own launches: t(n - 1) 0.005 sqrt(1 / n) is 0.0124 for
/// n = 3 and 0.0080 for n = 4; t(n - 1) 0.012 sqrt(1 / n) 0.01003 for n = 8 and 0.0092 for n = 9.
TEST(Settling, CountsTheLaunchesOfTheSideThatScatters) {
  LaunchShift shift{.log = 0.01, .before = 2, .after = 2};
  shift.parts = {{.deviation = {0.025, 1}, .after = 0.04}};
  EXPECT_THAT(settling_of(shift), Optional(Settling{4, false}));
  shift.parts = {{.deviation = {0.06, 1}, .before = 0.04}};
  shift.after = 8;
  EXPECT_THAT(settling_of(shift), Optional(Settling{9, true}));
}

/// Derives s from n: 1.959964 s sqrt(2 / n) is 0.01.
TEST(Settling, HasAnEnd) {
  const auto settling = [](double launches) {
    return settling_of(shift_of(
        0.01, 2, 2, LaunchDeviation{0.01 / 1.959964 * std::sqrt(launches / 2.0), std::nullopt}));
  };
  EXPECT_THAT(settling(99.9), Optional(Settling{kMostSettling, true}));
  EXPECT_EQ(settling(100.1), std::nullopt);
}

/// Covers baselines that were made by hand.
TEST(Settling, HoldsMillionsOfDegreesOfFreedom) {
  const LaunchShift shift = shift_of(0.01, 8, 1, LaunchDeviation{0.01, 1000000, false});
  EXPECT_THAT(settling_of(shift), Optional(Settling{8, false}));
  const LaunchShift many = shift_of(0.0, 1000000, 8, LaunchDeviation{0.03, 1000000, false});
  EXPECT_THAT(settling_of(many), Optional(Settling{9, false}));
}

TEST(Settling, WorksOutsideTheToleranceToo) {
  ShiftQuantiles quantiles;
  const auto settling = settling_of(shift_of(0.04, 8, 1));
  ASSERT_TRUE(settling);
  const auto low_end = [&](int launches) {
    LaunchShift shift = shift_of(0.04, 8, launches);
    shift.parts[0].deviation.degrees_of_freedom = 4 * (6 + launches);
    return interval_of(shift, quantiles).low;
  };
  EXPECT_GE(low_end(settling->launches), 0.02);
  EXPECT_LT(low_end(settling->launches - 1), 0.02);
}

TEST(Settling, IsHopelessAtTheToleranceItself) {
  EXPECT_EQ(settling_of(shift_of(0.02, 8, 8)), std::nullopt);
}

TEST(Settling, IsSureWhereNothingIsBounded) {
  ShiftQuantiles quantiles;
  EXPECT_THAT(launches_to_settle(shift_of(0.02, 8, 8), quantiles, -kInfinite, kInfinite),
              Optional(Settling{8, false}));
}

}  // namespace
}  // namespace linkgain::test
