#include "linkgain/record/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "linkgain/statistics/statistics.hpp"
#include "support/full_record.hpp"

namespace linkgain::test {
namespace {

using ::testing::DoubleEq;
using ::testing::Optional;

Sample sample(int variant, int launch, int round, std::vector<std::optional<double>> seconds) {
  Sample result;
  result.variant = variant;
  result.launch = launch;
  result.round = round;
  result.seconds = std::move(seconds);
  return result;
}

/// all_reduce of 1 GiB on two ranks, so that busbw is algbw, with this many variants.
CaseResult unmeasured(int variants) {
  CaseResult result;
  result.definition.size = Bytes{1 << 30};
  for (int i = 0; i < variants; ++i) {
    result.variants.emplace_back();
    result.variants.back().variant = std::to_string(i);
  }
  return result;
}

TEST(Sample, TakesTheTimeOfTheSlowestRank) {
  EXPECT_EQ(sample(0, 0, 0, {0.25, std::nullopt, 0.5, 0.125}).time(), Seconds{0.5});
  EXPECT_EQ(sample(0, 0, 0, {}).time(), Seconds{0.0});
}

TEST(Summarise, TakesMediansOverSamplesAndRanks) {
  CaseResult result = unmeasured(1);
  result.definition.ranks = 4;
  const std::vector<Sample> samples{sample(0, 0, 0, {0.5, 0.25}), sample(0, 0, 1, {0.75, 1.0}),
                                    sample(0, 0, 2, {0.125, 2.0})};
  result.samples = samples;
  summarise(result);
  const VariantResult& variant = result.variants[0];
  EXPECT_EQ(variant.time, Seconds{1.0});
  EXPECT_THAT(variant.skew, Optional(DoubleEq(0.5))) << "of 0.5, 0.25 and 0.9375";
  EXPECT_THAT(variant.algbw, Optional(DoubleEq(1.073741824)));
  EXPECT_THAT(variant.busbw, Optional(DoubleEq(1.073741824 * 1.5)));
  EXPECT_TRUE(result.ratios.empty());
}

TEST(Summarise, TakesRatiosWithinRounds) {
  CaseResult result = unmeasured(3);
  std::vector<Sample> samples;
  for (int round = 0; round < 20; ++round) {
    const double drift = std::exp(0.1 * round);
    samples.push_back(sample(1, 0, round, {3e-3 * drift}));
    samples.push_back(sample(0, 0, round, {1e-3 * drift}));
  }
  // A round that only one variant finished counts for its median, not for the ratio.
  samples.push_back(sample(1, 0, 20, {5.0}));
  result.samples = samples;
  summarise(result);
  ASSERT_EQ(result.ratios.size(), 1U) << "the third variant was not sampled";
  EXPECT_EQ(result.ratios[0].variant, "1");
  EXPECT_NEAR(result.ratios[0].ratio.estimate, 3.0, 1e-12);
  EXPECT_EQ(result.ratios[0].ratio.rounds, 20);
  EXPECT_FALSE(result.variants[2].time);
  EXPECT_NE(result.variants[1].time->value, 3 * result.variants[0].time->value);
}

TEST(Summarise, MatchesRoundsByNumberNotByPlace) {
  CaseResult result = unmeasured(2);
  std::vector<Sample> samples;
  for (int round = 0; round < 10; ++round) {
    samples.push_back(sample(0, 0, round, {1.0 + round}));
    samples.insert(samples.begin(), sample(1, 0, round, {2.0 * (1.0 + round)}));
  }
  result.samples = samples;
  summarise(result);
  EXPECT_NEAR(result.ratios.at(0).ratio.estimate, 2.0, 1e-12);
  EXPECT_NEAR(*result.ratios.at(0).ratio.low, 2.0, 1e-12);
}

TEST(Summarise, TakesALaunchAsOneReplicate) {
  CaseResult result = unmeasured(2);
  std::vector<Sample> samples;
  const std::vector<double> of_launch{2.0, 2.0 * std::exp(0.3), 2.0 * std::exp(0.6)};
  for (int launch = 0; launch < 3; ++launch) {
    for (int round = 0; round < 6 + launch; ++round) {
      samples.push_back(sample(0, launch, round, {1e-3}));
      samples.push_back(sample(1, launch, round, {of_launch[launch] * 1e-3}));
    }
  }
  result.samples = samples;
  summarise(result);
  const Ratio& ratio = result.ratios.at(0).ratio;
  EXPECT_NEAR(ratio.estimate, 2.0 * std::exp(0.3), 1e-9);
  // Standard error of the three logs: 0.3 / sqrt(3); Student's t for two degrees of freedom.
  EXPECT_NEAR(std::log(*ratio.high / ratio.estimate), 4.302653 * 0.3 / std::sqrt(3.0), 1e-5);
  EXPECT_EQ(ratio.rounds, 21);
}

/// Rounds of one launch in which the second variant takes `ratio` times as long as the first, more
/// or less by `scatter` from one round to the next.
void add_launch(std::vector<Sample>& samples, int launch, double ratio, double scatter) {
  for (int round = 0; round < 20; ++round) {
    const double factor = std::exp(round % 2 == 0 ? scatter : -scatter);
    samples.push_back(sample(0, launch, round, {1e-3}));
    samples.push_back(sample(1, launch, round, {1e-3 * ratio * factor}));
  }
}

/// Settled to 1 % where the last launch ended so.
CaseResult settled(const std::vector<Sample>& samples, StopReason ended) {
  CaseResult result = unmeasured(2);
  result.samples = samples;
  summarise(result);
  result.stopped = ended;
  settle(result, 0.01);
  return result;
}

TEST(Settle, SeveralLaunchesDifferWhateverEndedTheLast) {
  std::vector<Sample> samples;
  add_launch(samples, 0, 2.0, 0.1);
  add_launch(samples, 1, 2.2, 0.1);
  for (const StopReason ended : {StopReason::converged, StopReason::out_of_time,
                                 StopReason::out_of_rounds, StopReason::launches_differ}) {
    const CaseResult result = settled(samples, ended);
    EXPECT_FALSE(result.converged);
    EXPECT_EQ(result.stopped, StopReason::launches_differ) << name_of(ended);
  }
}

TEST(Settle, OneLaunchKeepsWhatEndedIt) {
  std::vector<Sample> samples;
  add_launch(samples, 0, 2.0, 0.1);
  for (const StopReason ended : {StopReason::out_of_time, StopReason::out_of_rounds}) {
    const CaseResult result = settled(samples, ended);
    EXPECT_FALSE(result.converged);
    EXPECT_EQ(result.stopped, ended);
  }
}

TEST(Settle, ALaunchOfOneVariantIsNoneThatCouldDiffer) {
  std::vector<Sample> samples;
  add_launch(samples, 0, 2.0, 0.1);
  for (int round = 0; round < 20; ++round) samples.push_back(sample(0, 1, round, {1e-3}));
  EXPECT_EQ(settled(samples, StopReason::out_of_time).stopped, StopReason::out_of_time);
}

TEST(Settle, ANarrowIntervalHasConvergedWhateverEndedTheLast) {
  std::vector<Sample> samples;
  add_launch(samples, 0, 2.0, 0.0);
  EXPECT_EQ(settled(samples, StopReason::out_of_time).stopped, StopReason::converged);
  add_launch(samples, 1, 2.001, 0.1);
  const CaseResult result = settled(samples, StopReason::out_of_time);
  EXPECT_TRUE(result.converged) << "each launch is one value";
  EXPECT_EQ(result.stopped, StopReason::converged);
}

TEST(Summarise, SumsUpTheHealthOfAVariantsSamples) {
  CaseResult result = unmeasured(2);
  std::vector<Sample> samples{sample(0, 0, 0, {1.0}), sample(0, 0, 1, {1.0}),
                              sample(1, 0, 0, {1.0})};
  samples[0].health = {{40, 300.0, 1980, 0x0}, {44, 310.0, 1950, 0x4}};
  samples[1].health = {{50, 200.0, 1200, 0x40}, {45, 310.0, 1980, 0x0}};
  result.samples = samples;
  summarise(result);
  EXPECT_EQ(result.variants[0].health.highest_temperature_c, 50);
  EXPECT_EQ(result.variants[0].health.lowest_sm_clock_mhz, 1200);
  EXPECT_EQ(result.variants[0].health.samples, 2);
  EXPECT_EQ(result.variants[0].health.unhealthy_samples, 1);
  EXPECT_EQ(result.variants[0].health.power_capped_samples, 1);
  EXPECT_EQ(result.variants[1].health, HealthSummary{}) << "nothing was measured";
  const HealthSummary once = result.variants[0].health;
  result.samples = samples;
  summarise(result);
  EXPECT_EQ(result.variants[0].health, once) << "written anew";
}

TEST(Summarise, KeepsWhatSamplesDoNotTell) {
  const Record record = full_record();
  CaseResult result = record.cases[0];
  summarise(result);
  EXPECT_TRUE(same(result.variants[0].verification, record.cases[0].variants[0].verification));
  EXPECT_TRUE(same(result.variants[0].execution, record.cases[0].variants[0].execution));
  EXPECT_EQ(result.variants[0].path, Path::nvlink);
  EXPECT_EQ(result.stopped, record.cases[0].stopped);
  EXPECT_EQ(result.variants[2].skipped, "no network");
  EXPECT_FALSE(result.variants[2].time);
}

/// Rule 10: from the record alone, by the functions of statistics, without summarise().
TEST(Summarise, GivesNumbersThatTheRecordsSamplesGiveAgain) {
  Record record = full_record();
  for (CaseResult& result : record.cases) summarise(result);
  const Record back = parse_record(to_json(record), "");
  for (const CaseResult& shown : back.cases) {
    std::vector<std::vector<double>> times(2);
    std::vector<std::vector<Ratio>> ratios(1);
    for (int launch = 0; launch < 2; ++launch) {
      std::vector<std::vector<double>> of_launch(2);
      for (const Sample& one : shown.samples) {
        if (one.launch != launch) continue;
        times[one.variant].push_back(one.time().value);
        of_launch[one.variant].push_back(one.time().value);
      }
      ratios[0].push_back(estimate_ratio(of_launch[0], of_launch[1]));
    }
    for (int variant = 0; variant < 2; ++variant) {
      const Seconds time{median(times[variant])};
      EXPECT_EQ(shown.variants[variant].time, time);
      EXPECT_EQ(shown.variants[variant].algbw, algorithm_bandwidth(shown.definition, time));
      EXPECT_EQ(shown.variants[variant].busbw, bus_bandwidth(shown.definition, time));
      EXPECT_THAT(shown.variants[variant].skew, Optional(::testing::DoubleNear(2.0 / 3, 1e-12)));
    }
    EXPECT_TRUE(same(shown.ratios.at(0).ratio, combine_launches(ratios[0])));
  }
}

}  // namespace
}  // namespace linkgain::test
