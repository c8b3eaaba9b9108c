#include "measurement.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "linkgain/cases/case_label.hpp"
#include "measurement_support.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Kind = FakeFailure::Kind;

/// Lists the variants of a round by their position.
std::vector<int> order_of(const Bench& bench, int round) {
  std::map<int, int> by_position;
  for (const Sample& sample : bench.result.samples) {
    if (sample.round == round) by_position[sample.position] = sample.variant;
  }
  std::vector<int> order;
  for (const auto& [position, variant] : by_position) order.push_back(variant);
  return order;
}

TEST(MeasureCase, FindsTheScriptedRatio) {
  Bench bench({taking(1e-4), taking(3.7e-4)});
  bench.measure();
  EXPECT_EQ(bench.result.samples.size(), 40U);
  ASSERT_EQ(bench.result.ratios.size(), 1U);
  EXPECT_EQ(bench.result.ratios[0].variant, "v1");
  EXPECT_NEAR(bench.result.ratios[0].ratio.value, 3.7, 1e-12);
  EXPECT_EQ(bench.result.variants[0].time, Seconds{1e-4});
  EXPECT_EQ(bench.result.variants[1].time, Seconds{3.7e-4});
  EXPECT_THAT(bench.warnings, IsEmpty());
}

TEST(MeasureCase, RecordsSamplesAsTheJobsGaveThem) {
  FakeScript script = taking(1e-4);
  script.skew = 0.25;
  Bench bench({taking(2e-4), script});
  bench.plan.sample_target = Seconds{0.01};
  bench.result.samples.push_back(
      {.sequence = 7, .variant = 0, .times = {Seconds{1.0}}, .health = {}});
  bench.measure(3);
  const std::vector<Sample> samples = bench.of_variant(1);
  ASSERT_EQ(samples.size(), 20U);
  for (int round = 0; round < 20; ++round) {
    const Sample& sample = samples[static_cast<std::size_t>(round)];
    EXPECT_EQ(sample.launch, 3);
    EXPECT_EQ(sample.round, round);
    EXPECT_EQ(sample.operations, 100);
    EXPECT_THAT(sample.times, ElementsAre(Seconds{1e-4}, Seconds{1e-4 * (1.0 - 0.25)}));
    EXPECT_EQ(sample.health.at(1).temperature_c, 41);
  }
  EXPECT_EQ(bench.result.variants[1].execution.operations_per_sample, 100);
  EXPECT_EQ(bench.result.variants[0].execution.operations_per_sample, 50);
  EXPECT_EQ(bench.result.samples.front().sequence, 7) << "samples are appended";
  EXPECT_NEAR(bench.clock.now().value, 40 * 0.01, 1e-9);
}

TEST(MeasureCase, OrdersVariantsInBalancedPairsOfRounds) {
  const std::vector<FakeScript> scripts(3, taking(1e-4));
  std::set<std::vector<int>> orders;
  for (int launch = 0; launch < 60; ++launch) {
    Bench bench(scripts);
    bench.rounds = kRoundsPerLaunch;
    bench.measure(launch);
    ASSERT_EQ(bench.result.samples.size(), 3U * kRoundsPerLaunch);
    const std::vector<int> first = order_of(bench, 0);
    const std::vector<int> mirrored(first.rbegin(), first.rend());
    for (int round = 1; round < kRoundsPerLaunch; ++round) {
      EXPECT_EQ(order_of(bench, round), round % 2 == 0 ? first : mirrored) << "round " << round;
    }
    orders.insert(first);
  }
  EXPECT_EQ(orders.size(), 6U) << "every order occurs";
}

TEST(MeasureCase, OpensInRandomOrderAndVerifiesInItsMirrorImage) {
  std::set<std::vector<std::string>> orders;
  for (int launch = 0; launch < 20; ++launch) {
    Bench bench({taking(1e-4), taking(1e-4), taking(1e-4)});
    std::vector<std::string> asked;
    for (std::size_t i = 0; i < 3; ++i) {
      bench.traces[i].on_command = [&asked, i](const std::string& command) {
        if (command == "open" || command == "verify") asked.push_back(std::to_string(i));
      };
    }
    bench.measure(launch);
    ASSERT_EQ(asked.size(), 6U);
    std::vector<std::string> opened(asked.begin(), asked.begin() + 3);
    orders.insert(opened);
    std::ranges::reverse(opened);
    EXPECT_EQ(std::vector<std::string>(asked.begin() + 3, asked.end()), opened);
  }
  EXPECT_EQ(orders.size(), 6U) << "every order occurs";
}

TEST(MeasureCase, BalancedRoundsCancelDrift) {
  FakeScript first = taking(1e-4);
  first.drift = 8.0;
  FakeScript other = taking(2e-4);
  other.drift = 8.0;
  Bench bench({first, other});
  bench.rounds = kRoundsPerLaunch;
  bench.measure();
  const std::vector<Sample> own = bench.of_variant(0);
  EXPECT_GT(own.back().time().value, 1.15 * own.front().time().value) << "the drift is there";
  EXPECT_NEAR(bench.result.ratios.at(0).ratio.value, 2.0, 0.02);
}

TEST(MeasureCase, VerifiesAndClosesAfterSampling) {
  Bench bench({failing({.command = "verify", .kind = Kind::wrong_data}), taking(1e-4)});
  bench.measure();
  const std::vector<std::string>& commands = bench.traces[0].commands;
  ASSERT_GT(commands.size(), 2U);
  EXPECT_EQ(commands.front(), "open");
  EXPECT_EQ(commands[commands.size() - 2], "verify");
  EXPECT_EQ(commands.back(), "close");
  EXPECT_THAT(bench.traces[1].open_handles, IsEmpty());
  EXPECT_EQ(bench.result.variants[0].verification->wrong, 1);
  EXPECT_EQ(bench.result.variants[1].verification->wrong, 0);
  EXPECT_EQ(bench.result.variants[1].verification->checked, 256);
}

TEST(MeasureCase, EndsWithTheBatchInWhichTheBudgetDoes) {
  Bench bench({taking(1.0), taking(1.0)});
  bench.budget = Seconds{2.5};
  bench.measure();
  EXPECT_EQ(bench.clock.now(), Seconds{3.0});
  ASSERT_EQ(bench.result.samples.size(), 3U);
  for (const Sample& sample : bench.result.samples) EXPECT_FALSE(sample.unverified);
  EXPECT_EQ(bench.result.stopped, StopReason::out_of_time);
  EXPECT_EQ(bench.result.ratios.size(), 1U);
}

TEST(MeasureCase, ThatTheBudgetHoldsOnlyTheOpeningOfIsSkipped) {
  FakeScript script = taking(1e-4);
  script.open_time = Seconds{2.0};
  Bench bench({script, script});
  bench.budget = Seconds{1.0};
  bench.measure();
  EXPECT_EQ(bench.clock.now(), Seconds{2.0}) << "one is open, and no other";
  EXPECT_THAT(bench.result.samples, IsEmpty());
  EXPECT_EQ(bench.result.stopped, StopReason::out_of_time);
  for (const VariantResult& variant : bench.result.variants) {
    EXPECT_EQ(variant.skipped, Skip{SkipReason::out_of_time});
  }
  for (const FakeTrace& trace : bench.traces) EXPECT_THAT(trace.open_handles, IsEmpty());
}

TEST(MeasureCase, KeepsWrongDataOfAnEarlierLaunch) {
  Bench bench({failing({.command = "verify", .kind = Kind::wrong_data}), taking(1e-4)});
  bench.measure(0);
  bench.measure(1);
  EXPECT_EQ(bench.result.variants[0].verification->wrong, 1);
}

TEST(MeasureCase, ARefusedCaseIsSkippedAndTheOthersGoOn) {
  Bench bench({taking(1e-4), failing({.command = "open", .kind = Kind::refuse}), taking(4e-4)});
  bench.measure();
  EXPECT_EQ(bench.result.variants[1].skipped, Skip{.refusal = "the fake refuses"});
  EXPECT_FALSE(bench.result.variants[1].time);
  ASSERT_EQ(bench.result.ratios.size(), 1U);
  EXPECT_EQ(bench.result.ratios[0].variant, "v2");
  EXPECT_NEAR(bench.result.ratios[0].ratio.value, 4.0, 1e-9);
  EXPECT_TRUE(bench.jobs[1].job) << "the job lives on";
  EXPECT_THAT(bench.warnings, IsEmpty());
}

TEST(MeasureCase, RefusedInALaterLaunchKeepsWhatWasMeasured) {
  Bench bench({taking(1e-4), taking(2e-4)});
  bench.measure(0);
  FakeTrace& trace = bench.traces.emplace_back();
  bench.jobs[1].job = std::make_unique<FakeJob>(failing({.command = "open", .kind = Kind::refuse}),
                                                bench.clock, trace);
  bench.measure(1);
  EXPECT_FALSE(bench.result.variants[1].skipped);
  EXPECT_NEAR(bench.result.ratios.at(0).ratio.value, 2.0, 1e-9);
  ASSERT_EQ(bench.warnings.size(), 1U);
  EXPECT_EQ(bench.warnings[0].code, "launch-refused");
}

TEST(MeasureCase, WhereAllRefuseTheCaseIsSkipped) {
  const FakeFailure refusal{.command = "open", .kind = Kind::refuse};
  Bench bench({failing(refusal), failing(refusal)});
  bench.measure();
  EXPECT_EQ(bench.result.stopped, StopReason::skipped);
  EXPECT_THAT(bench.result.samples, IsEmpty());
}

TEST(MeasureCase, AloneAVariantIsSampledAllTheSame) {
  Bench bench({taking(1e-4)});
  bench.measure();
  EXPECT_EQ(bench.result.samples.size(), 20U);
  EXPECT_EQ(bench.result.stopped, StopReason::nothing_to_compare);
  EXPECT_FALSE(bench.result.converged);
}

TEST(MeasureCase, WhatUsesNoLinkRunsInTheFirstVariantAlone) {
  Bench bench({taking(1e-4), taking(2e-4)});
  bench.result.definition = parse_case_name("host_to_device/1KiB/np2");
  bench.measure();
  EXPECT_DOUBLE_EQ(bench.result.variants[0].time.value().value, 1e-4);
  EXPECT_FALSE(bench.result.variants[1].time);
  EXPECT_THAT(why_skipped(bench.result.variants[1]), HasSubstr("no link"));
  EXPECT_EQ(bench.result.stopped, StopReason::nothing_to_compare);
  EXPECT_TRUE(bench.result.ratios.empty());
}

using Kind = FakeFailure::Kind;

TEST(MeasureCaseLoss, KeepsTheOtherVariantAndTakesItToItsEnd) {
  Bench bench({taking(1e-4), failing({.command = "run", .occurrence = 8})});
  bench.measure();
  EXPECT_EQ(bench.of_variant(1).size(), 7U);
  EXPECT_EQ(bench.of_variant(0).size(), 20U);
  EXPECT_EQ(bench.result.stopped, StopReason::job_lost);
  EXPECT_FALSE(bench.result.converged);
  EXPECT_FALSE(bench.jobs[1].job);
  EXPECT_TRUE(bench.traces[1].gone);
  EXPECT_TRUE(bench.jobs[0].job);
  EXPECT_TRUE(bench.result.variants[0].verification) << "the other one is verified";
  ASSERT_EQ(bench.warnings.size(), 1U);
  EXPECT_EQ(bench.warnings[0].code, "job-lost");
  // What both have measured still gives a ratio, and the lost variant its time.
  EXPECT_EQ(bench.result.ratios.size(), 1U);
  EXPECT_EQ(bench.result.variants[1].time, Seconds{1e-4});
  EXPECT_FALSE(bench.result.variants[1].skipped);
}

TEST(MeasureCaseLoss, OfTheFirstVariantLeavesNothingToCompareTheOthersWith) {
  Bench bench({failing({.command = "run", .occurrence = 1}), taking(1e-4), taking(2e-4)});
  bench.measure();
  EXPECT_EQ(bench.of_variant(1).size(), 20U);
  EXPECT_EQ(bench.of_variant(2).size(), 20U);
  EXPECT_THAT(bench.result.ratios, IsEmpty());
  EXPECT_EQ(bench.result.stopped, StopReason::job_lost);
  EXPECT_EQ(bench.result.variants[0].skipped, Skip{SkipReason::job_lost});
}

TEST(MeasureCaseLoss, LeavesTheRestOfTheRoundComplete) {
  for (int occurrence = 1; occurrence <= 20; ++occurrence) {
    Bench bench(
        {taking(1e-4), failing({.command = "run", .occurrence = occurrence}), taking(2e-4)});
    bench.measure();
    ASSERT_EQ(bench.of_variant(0).size(), 20U) << occurrence;
    ASSERT_EQ(bench.of_variant(2).size(), 20U) << occurrence;
    ASSERT_EQ(bench.result.ratios.back().variant, "v2") << occurrence;
  }
}

TEST(MeasureCaseLoss, MayComeAtAnyCommand) {
  for (const char* command : {"open", "verify", "close"}) {
    Bench bench({failing({.command = command}), taking(1e-4)});
    bench.measure();
    EXPECT_EQ(bench.result.stopped, StopReason::job_lost) << command;
    EXPECT_FALSE(bench.jobs[0].job) << command;
    EXPECT_TRUE(bench.jobs[1].job) << command;
    EXPECT_EQ(bench.of_variant(1).size(), 20U) << command;
    EXPECT_TRUE(bench.result.variants[1].verification) << command;
    EXPECT_EQ(bench.of_variant(0).size(), std::string(command) == "open" ? 0U : 20U);
    EXPECT_EQ(bench.warnings.size(), 1U) << command;
  }
}

TEST(MeasureCaseLoss, OfAllJobsEndsTheCase) {
  Bench bench(
      {failing({.command = "run", .occurrence = 3}), failing({.command = "run", .occurrence = 4})});
  bench.measure();
  EXPECT_EQ(bench.result.stopped, StopReason::job_lost);
  EXPECT_EQ(bench.of_variant(0).size(), 2U);
  EXPECT_EQ(bench.of_variant(1).size(), 3U);
  EXPECT_EQ(bench.warnings.size(), 2U);
  EXPECT_EQ(bench.result.ratios.size(), 1U);
}

TEST(MeasureCaseLoss, OfAJobThatSaysNothingComesAtItsDeadline) {
  Bench bench({taking(1e-4), failing({.command = "run", .kind = Kind::hang, .occurrence = 2})});
  bench.plan.timeout = Seconds{30.0};
  bench.measure();
  EXPECT_EQ(bench.result.stopped, StopReason::job_lost);
  // 21 batches, and the silence: the deadline and twenty times what the batch should take.
  const double batch = kDefaultSampleTarget.value;
  EXPECT_NEAR(bench.clock.now().value, 21 * batch + 30.0 + 20 * batch, 1e-9);
}

TEST(MeasureCaseLoss, DeadlinesAllowForSlowOperations) {
  FakeScript slow = taking(2.0);
  slow.first_seconds_of_case[kCase] = {30.0};
  Bench bench({slow, taking(1.0)});
  bench.plan.timeout = Seconds{1.0};
  bench.measure();
  EXPECT_EQ(bench.result.stopped, StopReason::out_of_rounds);
  EXPECT_EQ(bench.of_variant(0).front().time(), Seconds{30.0});
  FakeScript slower = taking(2.0);
  slower.first_seconds_of_case[kCase] = {42.0};
  Bench lost({slower, taking(1.0)});
  lost.plan.timeout = Seconds{1.0};
  lost.measure();
  EXPECT_EQ(lost.result.stopped, StopReason::job_lost);
}

/// Waits twice as long as the ranks, which know who hangs.
TEST(MeasureCaseLoss, DeadlinesOfTheEndAllowForABurstThatIsVerified) {
  const auto end_at = [](const char* command, Kind kind) {
    Bench bench({failing({.command = command, .kind = kind}), taking(1e-4)});
    bench.plan.timeout = Seconds{30.0};
    bench.measure();
    return bench.clock.now().value;
  };
  for (const char* command : {"verify", "close"}) {
    const double waited = end_at(command, Kind::hang) - end_at(command, Kind::lost);
    EXPECT_NEAR(waited, 30.0 + 20.0 * 64 * 1e-4, 0.001) << command;
  }
}

/// Expects a path of 0.1 GB/s to take 11 s for a GiB.
TEST(MeasureCaseLoss, DeadlinesOfOpeningGrowWithTheSize) {
  Bench bench({failing({.command = "open", .kind = Kind::hang}), taking(1e-4)});
  bench.result.definition.size = Bytes{std::int64_t{1} << 30};
  bench.plan.timeout = Seconds{5.0};
  bench.rounds = 0;
  bench.measure();
  EXPECT_NEAR(bench.clock.now().value, 5.0 + 10.74, 0.01);
}

TEST(MeasureCaseLoss, AlsoMeansAnOpenedCaseThatIsRefused) {
  for (const char* command : {"run", "verify", "close"}) {
    Bench bench({taking(1e-4), failing({.command = command, .kind = Kind::refuse})});
    bench.measure();
    EXPECT_EQ(bench.result.stopped, StopReason::job_lost) << command;
    EXPECT_FALSE(bench.jobs[1].job) << command;
    EXPECT_EQ(bench.warnings.at(0).text,
              spoken_case(bench.result.definition) + ": the fake refuses")
        << command;
  }
}

TEST(MeasureCaseLoss, AlsoMeansABatchWithoutTime) {
  FakeScript timeless = taking(1e-4);
  timeless.first_seconds_of_case[kCase] = {1e-4, 0.0};
  Bench bench({taking(1e-4), timeless});
  bench.measure();
  EXPECT_EQ(bench.result.stopped, StopReason::job_lost);
  EXPECT_EQ(bench.of_variant(1).size(), 1U);
}

TEST(MeasureCaseLoss, IsRememberedInLaterCasesAndLaunches) {
  Bench bench({taking(1e-4), failing({.command = "run", .occurrence = 8})});
  bench.measure(0);
  bench.measure(1);
  EXPECT_EQ(bench.result.stopped, StopReason::job_lost);
  EXPECT_FALSE(bench.result.converged);
  EXPECT_EQ(bench.of_variant(0).size(), 40U);
  EXPECT_FALSE(bench.result.variants[1].skipped) << "it was measured before";
  CaseResult next = bench.result;
  next.stopped.reset();
  next.samples.clear();
  for (VariantResult& variant : next.variants) variant.time.reset();
  measure_case(bench.jobs, next, {1, 0, 80}, bench.rounds, bench.settings);
  EXPECT_EQ(next.variants[1].skipped, Skip{SkipReason::job_lost});
  EXPECT_EQ(next.stopped, StopReason::nothing_to_compare);
}

TEST(MeasureCaseInterrupted, KeepsTheSamplesSoFar) {
  Bench bench(
      {taking(1e-4), failing({.command = "run", .kind = Kind::interrupt, .occurrence = 8})});
  try {
    bench.measure();
    FAIL() << "not interrupted";
  } catch (const Interrupted& interruption) {
    EXPECT_EQ(interruption.signal_number(), SIGINT);
  }
  EXPECT_EQ(bench.result.stopped, StopReason::interrupted);
  EXPECT_FALSE(bench.result.converged);
  EXPECT_EQ(bench.of_variant(1).size(), 7U);
  EXPECT_GE(bench.of_variant(0).size(), 7U);
  EXPECT_THAT(bench.warnings, IsEmpty());
}

}  // namespace
}  // namespace linkgain::test
