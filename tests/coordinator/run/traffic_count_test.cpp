#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "measurement.hpp"
#include "measurement_support.hpp"
#include "support/golden.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
const TransferPlan kRingPlan{"RING", "SIMPLE"};

Case all_reduce(std::int64_t size) {
  Case c;
  c.size = Bytes{size};
  return c;
}

/// Both ranks' links carry that much in an operation.
FakeScript carrying(std::int64_t bytes) {
  FakeScript script = taking(1e-3);
  script.carried = {{bytes, bytes, {}, {}}, {bytes, bytes, {}, {}}};
  script.plan = kRingPlan;
  return script;
}

void count(Bench& bench, std::int64_t size) {
  bench.result.definition = all_reduce(size);
  bench.settings.traffic.counting = true;
}

std::int64_t readings(const FakeTrace& trace) {
  return std::count(trace.commands.begin(), trace.commands.end(), "counters");
}

TEST(TrafficCount, ReadsTheCountersJustAroundABatch) {
  Bench bench({carrying(64 * kMiB), carrying(0)});
  count(bench, 64 * kMiB);
  bench.measure();
  const std::vector<std::string>& commands = bench.traces[0].commands;
  const std::vector<std::string> first(commands.begin(), commands.begin() + 6);
  EXPECT_THAT(first, ElementsAre("open", "counters", "run", "counters", "run", "run"));
}

TEST(TrafficCount, CountsOnceWhereMoreIsNotAffordable) {
  Bench bench({carrying(64 * kMiB), carrying(0)});
  count(bench, 64 * kMiB);
  int asked = 0;
  bench.affordable = [&] {
    ++asked;
    return false;
  };
  bench.measure(0);
  EXPECT_EQ(asked, 0) << "the first launch's is counted whatever it costs";
  bench.measure(1);
  EXPECT_EQ(readings(bench.traces[0]), 2);
  EXPECT_EQ(readings(bench.traces[1]), 2);
  EXPECT_EQ(asked, 1) << "once for a launch, whatever the variants";
  EXPECT_TRUE(bench.result.variants[0].evidence);
}

TEST(TrafficCount, FindsTheShareThatNvlinkCarried) {
  Bench bench({carrying(64 * kMiB), carrying(0)});
  count(bench, 64 * kMiB);
  bench.measure();
  const TrafficEvidence& p2p = bench.result.variants[0].evidence.value();
  EXPECT_EQ(p2p.operations, 3) << "a batch of 3 ms";
  EXPECT_EQ(p2p.nvlink_sent, 2 * 3 * 64 * kMiB);
  EXPECT_DOUBLE_EQ(p2p.nvlink_share().value(), 1.0);
  EXPECT_TRUE(p2p.judged);
  EXPECT_EQ(p2p.plan, kRingPlan);
  EXPECT_DOUBLE_EQ(bench.result.variants[1].evidence.value().nvlink_share().value(), 0.0);
}

TEST(TrafficCount, OneReadingServesTwoJobsOnTheSameGpus) {
  Bench bench({carrying(64 * kMiB), carrying(0)});
  count(bench, 64 * kMiB);
  bench.settings.traffic.same_gpus = true;
  bench.measure();
  EXPECT_EQ(readings(bench.traces[0]) + readings(bench.traces[1]), 3);
  EXPECT_DOUBLE_EQ(bench.result.variants[0].evidence.value().nvlink_share().value(), 1.0);
  EXPECT_DOUBLE_EQ(bench.result.variants[1].evidence.value().nvlink_share().value(), 0.0);
}

TEST(TrafficCount, AddsLaunchesUp) {
  Bench bench({carrying(64 * kMiB), carrying(0)});
  count(bench, 64 * kMiB);
  bench.measure(0);
  bench.measure(1);
  const TrafficEvidence& evidence = bench.result.variants[0].evidence.value();
  EXPECT_EQ(evidence.operations, 6);
  EXPECT_DOUBLE_EQ(evidence.nvlink_share().value(), 1.0);
}

TEST(TrafficCount, AsksNothingOfJobsWithoutGpus) {
  Bench bench({carrying(64 * kMiB), carrying(0)});
  bench.measure();
  EXPECT_EQ(readings(bench.traces[0]), 0);
  EXPECT_FALSE(bench.result.variants[0].evidence);
}

TEST(TrafficCount, SaysWhyThereIsNothingToJudge) {
  FakeScript blind = taking(1e-3);
  blind.carried = {{64 * kMiB, 64 * kMiB, {}, {}}, {}};
  Bench bench({blind, carrying(0)});
  count(bench, 64 * kMiB);
  bench.measure();
  const TrafficEvidence& evidence = bench.result.variants[0].evidence.value();
  EXPECT_FALSE(evidence.nvlink_sent);
  EXPECT_FALSE(evidence.judged);
  EXPECT_THAT(evidence.reason, ::testing::HasSubstr("rank 1"));
}

TEST(TrafficCount, SaysWhyPcieBytesAreAbsent) {
  const LinkCounters some{0, 0, 0, {}};
  const protocol::CountersReply reply{{some, some}, "", "rank 0: Not Supported (NVML error 3)"};
  TrafficCount unsupported(all_reduce(64 * kMiB), kRingPlan, {}, "");
  unsupported.add(reply, reply, 1);
  const LinkCounters all{0, 0, 0, 0};
  TrafficCount round(all_reduce(1024 * kMiB), kRingPlan, {}, "");
  round.add({{all, all}, "", ""}, {{all, all}, "", ""}, 100);
  EXPECT_FALSE(round.evidence()->pcie_sent);
  expect_golden(unsupported.evidence()->pcie_reason + "\n" + round.evidence()->pcie_reason + "\n",
                "pcie_not_counted.txt");
}

TEST(TrafficCount, ALossWhileReadingIsALostJob) {
  FakeScript lost = carrying(0);
  lost.failures = {{"counters", FakeFailure::Kind::lost, {}, 2}};
  Bench bench({carrying(64 * kMiB), lost});
  count(bench, 64 * kMiB);
  bench.measure();
  EXPECT_EQ(bench.result.stopped, StopReason::job_lost);
  EXPECT_FALSE(bench.jobs[1].job);
  EXPECT_TRUE(bench.jobs[0].job);
}

}  // namespace
}  // namespace linkgain::test
