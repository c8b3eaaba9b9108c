#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "linkgain/analysis/launch_statistics.hpp"
#include "support/launch_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::Eq;
using ::testing::Optional;

/// Makes launches whose times have these logs.
CaseLaunches logs(const Case& definition, const std::vector<double>& values) {
  std::vector<double> times;
  for (const double value : values) times.push_back(std::exp(value));
  return launches_of(definition, times);
}

TEST(DeviationPool, NamesWhatCasesHaveInCommon) {
  Case definition = sized(16 << 20);
  EXPECT_EQ(deviation_pool(definition, "p2p"), "p2p/all_reduce/stream/16MiB-256MiB");
  definition.launch = LaunchMode::graph;
  definition.kernel = true;
  definition.size = Bytes{8};
  EXPECT_EQ(deviation_pool(definition, "host"), "host/all_reduce/graph/kernel/1B-16B");
}

TEST(DeviationPool, HoldsSizesWithinAFactorOf16) {
  const std::string pool = deviation_pool(sized(1 << 20), "p2p");
  EXPECT_EQ(deviation_pool(sized((16 << 20) - 8), "p2p"), pool);
  EXPECT_NE(deviation_pool(sized(16 << 20), "p2p"), pool);
  EXPECT_NE(deviation_pool(sized((1 << 20) - 8), "p2p"), pool);
}

TEST(PooledDeviations, OfOneCaseAreItsStandardDeviation) {
  const std::vector<CaseLaunches> cases{logs(sized(8), {0.0, 0.01, -0.01, 0.0})};
  const auto deviations = pooled_deviations(cases);
  ASSERT_TRUE(deviations[0]);
  EXPECT_NEAR(deviations[0]->deviation, std::sqrt(2e-4 / 3.0), 1e-12);
  EXPECT_EQ(deviations[0]->degrees_of_freedom, 3);
  EXPECT_FALSE(deviations[0]->alone);
}

TEST(PooledDeviations, AreSharedWithinAPoolAndNotAcross) {
  const std::vector<CaseLaunches> cases{logs(sized(16), {0.01, -0.01}), logs(sized(32), {0.0, 0.0}),
                                        logs(sized(64), {0.5}), logs(sized(1 << 20), {0.1, 0.2}),
                                        logs(sized(16 << 20), {0.3})};
  const auto deviations = pooled_deviations(cases);
  EXPECT_NEAR(deviations[0]->deviation, std::sqrt(2e-4 / 2.0), 1e-12);
  EXPECT_EQ(deviations[1], deviations[0]);
  EXPECT_EQ(deviations[2], deviations[0]) << "one launch, but like the others";
  EXPECT_NEAR(deviations[3]->deviation, std::sqrt(0.005), 1e-12);
  EXPECT_EQ(deviations[4], std::nullopt) << "nothing like it has two launches";
}

TEST(PooledDeviations, HaveAsManyDegreesOfFreedomAsCasesThatAreIndependentGive) {
  // Orthogonal to each other: no launch is slow for all.
  const std::vector<CaseLaunches> cases{logs(sized(16), {0.01, -0.01, 0.0, 0.0}),
                                        logs(sized(32), {0.0, 0.0, 0.01, -0.01}),
                                        logs(sized(64), {-0.01, 0.01, 0.0, 0.0})};
  // Between launches: (0 + 0 + 1e-4 + 1e-4) / 3, the rest of 6e-4 inside; by Satterthwaite 7.8.
  EXPECT_EQ(pooled_deviations(cases)[0]->degrees_of_freedom, 7);
}

TEST(PooledDeviations, HaveOnlyTheLaunchesDegreesOfFreedomWhereAllCasesMoveAsOne) {
  std::vector<CaseLaunches> cases;
  for (int i = 0; i < 10; ++i)
    cases.push_back(logs(sized(16 + 8 * i), {0.01, -0.01, 0.005, -0.005}));
  const auto deviations = pooled_deviations(cases);
  EXPECT_EQ(deviations[0]->degrees_of_freedom, 3) << "four launches, however many cases";
  EXPECT_NEAR(deviations[0]->deviation, std::sqrt(2.5e-4 / 3.0), 1e-12);
}

TEST(PooledDeviations, LeaveAnUnsteadyCaseAlone) {
  std::vector<CaseLaunches> cases;
  for (int i = 0; i < 8; ++i) {
    const double sign = i % 2 == 0 ? 1.0 : -1.0;
    cases.push_back(logs(sized(16 + 8 * i), {0.004 * sign, -0.004 * sign, 0.005, -0.005, 0.003}));
  }
  cases.push_back(logs(sized(96), {0.3, 0.0, 0.3, 0.0, 0.0}));
  const auto deviations = pooled_deviations(cases);
  EXPECT_TRUE(deviations[8]->alone);
  EXPECT_NEAR(deviations[8]->deviation, std::sqrt(0.108 / 4.0), 1e-9);
  EXPECT_EQ(deviations[8]->degrees_of_freedom, 4);
  EXPECT_FALSE(deviations[0]->alone);
  EXPECT_LT(deviations[0]->deviation, 0.006) << "the others do not pay for it";
}

/// Covers two launches that move alike, against each other or in one case alone, and others for
/// each case.
TEST(PooledDeviations, HaveTheDegreesOfFreedomOfFewLaunches) {
  const auto degrees = [](const std::vector<double>& values, int first_launch = 0) {
    std::vector<CaseLaunches> cases{logs(sized(16), {0.01, -0.01}), logs(sized(32), values)};
    for (LaunchMedian& each : cases[1].launches) each.launch += first_launch;
    return pooled_deviations(cases)[0]->degrees_of_freedom;
  };
  EXPECT_EQ(degrees({0.01, -0.01}), 1);
  EXPECT_EQ(degrees({-0.01, 0.01}), 1);
  EXPECT_EQ(degrees({0.0, 0.0}), 2) << "half of it between launches, half inside";
  EXPECT_EQ(degrees({0.01, -0.01}, 2), 2) << "four launches, of which two each tell something";
}

/// Takes the F by which cases of three degrees of freedom each differ with a chance of 1 % over
/// their number (Abramowitz and Stegun, table 26.9).
TEST(PooledDeviations, LeaveACaseAloneAtOnePercentOverThePool) {
  for (const auto& [count, bound] : {std::pair{2, 47.467}, {10, 7.272}}) {
    const auto alone = [&, count = count](double ratio, std::size_t place) {
      const auto scattered = [](double deviation) {
        return std::vector{deviation, -deviation, deviation, -deviation};
      };
      std::vector<CaseLaunches> cases{logs(sized(16), {0.0})};
      for (int i = 0; i < count; ++i) cases.push_back(logs(sized(16 + 8 * i), scattered(0.01)));
      cases[place] = logs(cases[place].definition, scattered(0.01 * std::sqrt(ratio)));
      return pooled_deviations(cases)[place]->alone;
    };
    for (const std::size_t place : {1U, 2U}) {
      EXPECT_TRUE(alone(bound * 1.01, place)) << count;
      EXPECT_FALSE(alone(bound / 1.01, place)) << count;
    }
  }
}

TEST(PooledDeviations, OfIdenticalLaunchesAreNotKnown) {
  const std::vector<CaseLaunches> cases{logs(sized(8), {0.0, 0.0, 0.0})};
  EXPECT_EQ(pooled_deviations(cases)[0], std::nullopt) << "zero would make any difference certain";
  // Whatever their logs' sum is rounded to.
  for (int i = 1; i <= 200; ++i) {
    const double time = 0.0123 * i;
    for (const std::size_t launches : {3U, 6U, 8U}) {
      const CaseLaunches alike = launches_of(sized(8), std::vector<double>(launches, time));
      EXPECT_EQ(pooled_deviations(std::vector{alike})[0], std::nullopt)
          << launches << " of " << time;
    }
  }
}

TEST(PooledDeviations, LeaveOutACaseOfDifferentPaths) {
  std::vector<CaseLaunches> cases{logs(sized(8), {-0.01, 0.0, 0.01}),
                                  logs(sized(16), {-0.02, 0.0, 0.02})};
  cases[1].paths = {Path::nvlink, Path::host_memory};
  const auto deviations = pooled_deviations(cases);
  EXPECT_NEAR(deviations[0]->deviation, 0.01, 1e-12);
  EXPECT_NEAR(deviations[1]->deviation, 0.02, 1e-12);
  EXPECT_TRUE(deviations[1]->alone);
}

TEST(AssumedDeviation, ChangesAt1MiB) {
  EXPECT_EQ(assumed_deviation(Bytes{(1 << 20) - 1}), kAssumedSmallDeviation);
  EXPECT_EQ(assumed_deviation(Bytes{1 << 20}), kAssumedDeviation);
}

TEST(CombinedDeviations, AreWeightedByDegreesOfFreedom) {
  const std::optional<LaunchDeviation> a = LaunchDeviation{0.01, 30, false};
  const std::optional<LaunchDeviation> b = LaunchDeviation{0.02, 10, false};
  const auto both = combine_deviations(a, b);
  EXPECT_NEAR(both->deviation, std::sqrt((30 * 1e-4 + 10 * 4e-4) / 40.0), 1e-12);
  EXPECT_EQ(both->degrees_of_freedom, 40);
  EXPECT_EQ(combine_deviations(a, {}), a);
  EXPECT_EQ(combine_deviations({}, b), b);
  EXPECT_EQ(combine_deviations({}, {}), std::nullopt);
  const std::optional<LaunchDeviation> assumed = LaunchDeviation{0.015, std::nullopt};
  EXPECT_EQ(combine_deviations(a, assumed), assumed) << "no weights: the larger one";
  EXPECT_EQ(combine_deviations(assumed, b), b);
}

TEST(CombinedDeviations, KeepTheLargerOneThatStandsAlone) {
  const std::optional<LaunchDeviation> pooled = LaunchDeviation{0.01, 30, false};
  const std::optional<LaunchDeviation> alone = LaunchDeviation{0.2, 7, true};
  EXPECT_EQ(combine_deviations(pooled, alone), alone);
  EXPECT_EQ(combine_deviations(alone, pooled), alone);
  const std::optional<LaunchDeviation> small = LaunchDeviation{0.001, 7, true};
  EXPECT_EQ(combine_deviations(pooled, small), pooled);
  EXPECT_EQ(combine_deviations(small, pooled), pooled);
}

TEST(DeviationOfAgreeing, IsKnownOfTwoRunsOfAProgram) {
  Case metric = sized(8);
  EXPECT_EQ(deviation_of_agreeing(metric, 8), std::nullopt);
  metric.metric = ProgramMetric{.name = "loss"};
  EXPECT_EQ(deviation_of_agreeing(metric, 1), std::nullopt);
  EXPECT_EQ(deviation_of_agreeing(metric, 2), (LaunchDeviation{0.0, 1}));
}

/// Expects a log half width of t s / sqrt(n) from n launches of deviation s.
TEST(LaunchMean, HasAnIntervalFromTwoLaunchesOn) {
  const LaunchDeviation deviation{0.01, 14};
  const LaunchMean four{Seconds{1.0}, 4, deviation};
  ASSERT_TRUE(four.interval());
  EXPECT_NEAR(std::log(four.interval()->high), 2.144787 * 0.005, 1e-6);
  EXPECT_NEAR(std::log(four.interval()->low), -2.144787 * 0.005, 1e-6);
  EXPECT_TRUE((LaunchMean{Seconds{1.0}, 2, deviation}.interval()));
  EXPECT_FALSE((LaunchMean{Seconds{1.0}, 1, deviation}.interval()));
  EXPECT_FALSE((LaunchMean{Seconds{1.0}, 4, {}}.interval()));
  const LaunchDeviation none{0.0, 14};
  EXPECT_FALSE((LaunchMean{Seconds{1.0}, 4, none}.interval())) << "all agree";
  EXPECT_NEAR(std::log(LaunchMean{Seconds{1.0}, 4, none, 0.06}.interval()->high),
              2.144787 * 0.06 / std::sqrt(12.0), 1e-6)
      << "within half a unit of the last digit";
  EXPECT_NEAR(std::log(LaunchMean{Seconds{1.0}, 4, deviation, 0.06}.interval()->low),
              -2.144787 * std::sqrt(0.005 * 0.005 + 0.06 * 0.06 / 12.0), 1e-6);
}

/// Expects Welch's numbers: variances of 1e-4 / 4 and 4e-4 / 8 add up to 7.5e-5, with 7.5e-5^2 /
/// (2.5e-5^2 / 7 + 5e-5^2 / 7) = 12.6 degrees of freedom, rounded down, whose Student's t is
/// 2.178813.
TEST(RatioBetween, HasWelchsIntervalAndTheFewerLaunches) {
  const LaunchMean own{Seconds{1.0}, 4, LaunchDeviation{0.01, 7}};
  const LaunchMean other{Seconds{3.0}, 8, LaunchDeviation{0.02, 7}};
  const Estimate ratio = ratio_between(own, other);
  EXPECT_EQ(ratio.value, 3.0);
  EXPECT_EQ(ratio.replicates, 4);
  ASSERT_TRUE(ratio.interval);
  EXPECT_NEAR(std::log(ratio.interval->high / 3.0), 2.178813 * std::sqrt(7.5e-5), 1e-7);
  EXPECT_EQ(ratio_between(own, {Seconds{3.0}, 1, LaunchDeviation{0.02, 7}}).interval, std::nullopt);
  const LaunchMean same{Seconds{1.0}, 4, LaunchDeviation{0.0, 7}};
  EXPECT_EQ(ratio_between(same, same).interval, std::nullopt)
      << "times that agree so are not known";
}

TEST(RatioBetween, HasAFiniteIntervalOfLaunchesThatHaveNothingInCommon) {
  const LaunchMean own{Seconds{1.0}, 2, LaunchDeviation{300.0, 1}};
  const Estimate ratio = ratio_between(own, own);
  for (const auto& interval : {ratio.interval, own.interval()}) {
    ASSERT_TRUE(interval);
    EXPECT_GT(interval->low, 0.0);
    EXPECT_LT(interval->low, 1e-300);
    EXPECT_GT(interval->high, 1e300);
    EXPECT_TRUE(std::isfinite(interval->high));
  }
}

TEST(Summary, SaysWhetherARatioThatWasMeasuredToItsEndIsPrecise) {
  std::vector<double> slower = kEight;
  for (double& median : slower) median *= 2.0;
  const auto summarised = [&](double precision, StopReason stopped) {
    Record record = run_of({{sized(8), "p2p", kEight}, {sized(8), "host", slower}});
    record.settings.precision = precision;
    record.cases[0].stopped = stopped;
    summarise(record);
    return record.cases[0];
  };
  const auto converged = [&](double precision, StopReason stopped) {
    return summarised(precision, stopped).converged;
  };
  EXPECT_TRUE(converged(0.02, StopReason::converged));
  EXPECT_TRUE(converged(0.02, StopReason::out_of_time));
  const CaseResult result = summarised(0.02, StopReason::converged);
  const double width = relative_half_width(result.ratios[0].ratio).value();
  EXPECT_TRUE(converged(width, StopReason::converged)) << "the precision itself";
  EXPECT_FALSE(converged(0.001, StopReason::converged));
  EXPECT_EQ(summarised(0.02, StopReason::out_of_time).stopped, StopReason::converged);
  EXPECT_EQ(summarised(0.001, StopReason::out_of_time).stopped, StopReason::out_of_time);
  EXPECT_EQ(summarised(0.001, StopReason::converged).stopped, StopReason::launches_differ);
  EXPECT_FALSE(converged(0.02, StopReason::job_lost));
  EXPECT_FALSE(converged(0.02, StopReason::interrupted));
}

TEST(Summary, HoldsOfEveryCase) {
  Record record;
  for (const std::int64_t size : {8, 16, 32}) {
    const Record of_one = run_of({{sized(size), "p2p", kEight}, {sized(size), "host", kEight}});
    record.cases.push_back(of_one.cases[0]);
  }
  summarise(record);
  for (const CaseResult& result : record.cases) EXPECT_TRUE(result.ratios[0].ratio.interval);
}

TEST(RoundingOf, IsThatOfTheFirstVariantAndAnother) {
  Record record = run_of({{sized(8), "a", {1.0}}, {sized(8), "b", {1.0}}, {sized(8), "c", {1.0}}});
  for (Sample& sample : record.cases[0].samples) sample.resolution = 0.02 * (1 << sample.variant);
  EXPECT_DOUBLE_EQ(rounding_of(record.cases[0], "b"), 0.03);
  EXPECT_DOUBLE_EQ(rounding_of(record.cases[0], "c"), 0.05);
}

/// Makes a case whose one ratio is 1, with that half width, over six launches.
CaseResult of_half_width(std::int64_t bytes, std::optional<double> half_width) {
  CaseResult result;
  result.definition = sized(bytes);
  Estimate ratio{.value = 1.0, .replicates = 6};
  if (half_width) ratio.interval = Interval{std::exp(-*half_width), std::exp(*half_width)};
  result.ratios.push_back({"host", ratio});
  return result;
}

/// Asks for nine launches where six have 1.2 % and the precision is 1 %: 6 * 1.2^2 = 8.64.
TEST(LaunchesWorthAdding, AreThoseThatTheNeediestCaseOfThemNeeds) {
  Record record;
  record.settings.precision = 0.01;
  record.cases = {of_half_width(8, 0.012), of_half_width(64, 0.005), of_half_width(512, 0.013),
                  of_half_width(4096, 0.02), of_half_width(32768, std::nullopt)};
  MoreLaunches more = launches_worth_adding(record, 6, 6);
  EXPECT_EQ(more.cases, (std::vector<int>{0, 2}));
  EXPECT_EQ(more.launches, 5) << "6 * 1.3^2 = 10.14";
  record.cases.resize(2);
  more = launches_worth_adding(record, 6, 6);
  EXPECT_EQ(more.cases, std::vector<int>{0});
  EXPECT_EQ(more.launches, 3);
  record.cases[0].definition.training.emplace();
  EXPECT_TRUE(launches_worth_adding(record, 6, 6).cases.empty()) << "training";
  record.cases = {of_half_width(8, 0.012)};
  EXPECT_TRUE(launches_worth_adding(record, 4, 6).cases.empty()) << "nine are more than twice four";
  EXPECT_TRUE(launches_worth_adding(record, 6, 9).cases.empty()) << "there are nine already";
  record.cases = {of_half_width(8, 0.0141)};
  EXPECT_EQ(launches_worth_adding(record, 6, 6).launches, 6) << "6 * 1.41^2 = 11.93: twice six";
  record.cases[0].ratios.push_back(of_half_width(8, 0.012).ratios[0]);
  EXPECT_EQ(launches_worth_adding(record, 6, 6).launches, 6) << "whatever the next one needs";
  record.cases = {of_half_width(8, 0.0145)};
  EXPECT_TRUE(launches_worth_adding(record, 6, 6).cases.empty()) << "13 are more than twice six";
  record.cases[0].ratios.clear();
  EXPECT_TRUE(launches_worth_adding(record, 6, 6).cases.empty());
}

}  // namespace
}  // namespace linkgain::test
