#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measurement.hpp"
#include "measurement_support.hpp"

namespace linkgain::test {
namespace {

using ::testing::IsEmpty;
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

/// The ranks, which know who hangs, wait for half as long.
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

/// A path of 0.1 GB/s takes 11 s for a GiB.
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
    EXPECT_EQ(bench.warnings.at(0).text, "all_reduce/float32/sum/1KiB/np2: the fake refuses")
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
