#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/base/errors.hpp"
#include "measurement.hpp"
#include "measurement_support.hpp"
#include "run_beside_nvml.hpp"
#include "run_support.hpp"
#include "support/golden.hpp"
#include "watches.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kSize = std::int64_t{64} << 20;
const TransferPlan kRing{"RING", "SIMPLE"};

/// Stands for NCCL 2.24 or later, which tells its algorithm.
FakeScript counting_job(double seconds, std::int64_t carried) {
  FakeScript script;
  script.plan = kRing;
  script.seconds = seconds;
  script.carried = {{carried, carried, {}, {}}, {carried, carried, {}, {}}};
  script.host_copy = {HostCopyRates{50.0, 55.0}, HostCopyRates{54.0, 40.0}};
  return script;
}

/// Has two GPUs of 18 links of NVLink 4 each.
Machine two_gpus() {
  Machine machine;
  machine.host = "node1";
  for (int i = 0; i < 2; ++i) {
    RankInfo rank;
    rank.rank = i;
    rank.host = "node1";
    rank.gpu.emplace();
    rank.gpu->nvlink_version = 6;
    rank.gpu->nvlink_links = 18;
    rank.gpu->nvlink_links_active = 18;
    rank.gpu->nvlink_rate_gb_per_s = 26.5625;
    machine.ranks.push_back(rank);
  }
  machine.links = {{0, 1, true, true}};
  return machine;
}

/// One case on GPUs, NVLink carrying all of v0's and nothing of v1's.
class RunEvidence : public ::testing::Test {
 protected:
  RunEvidence() : bench({counting_job(3e-4, kSize), counting_job(3e-3, 0)}) {
    bench.plan.backend = BackendKind::nccl;
    bench.machine = two_gpus();
    bench.set_cases({kSize});
    bench.path_of = [](int variant, int) {
      return variant == 0 ? Path::nvlink : Path::host_memory;
    };
  }

  const VariantResult& result(std::size_t variant) const {
    return bench.record.cases[0].variants[variant];
  }

  RunBench bench;
};

TEST_F(RunEvidence, StandsInTheRecordWithThePlanThatTheJobTells) {
  bench.execute();
  EXPECT_EQ(result(0).evidence.value().plan, kRing);
  EXPECT_DOUBLE_EQ(result(0).evidence.value().nvlink_share().value(), 1.0);
  EXPECT_DOUBLE_EQ(result(1).evidence.value().nvlink_share().value(), 0.0);
  EXPECT_EQ(result(0).path, Path::nvlink);
  EXPECT_EQ(result(1).path, Path::host_memory);
}

TEST_F(RunEvidence, OfAJobThatDoesNotTellIsNotJudged) {
  FakeScript silent = counting_job(3e-3, kSize);
  silent.plan.reset();
  bench.script_of_launch[{1, 0}] = silent;
  bench.execute();
  EXPECT_EQ(result(0).evidence.value().plan, kRing);
  EXPECT_TRUE(result(0).evidence.value().judged);
  EXPECT_FALSE(result(1).evidence.value().judged) << "nobody knows its plan";
  EXPECT_EQ(result(1).evidence.value().reason, kNoAlgorithmNamed);
  EXPECT_DOUBLE_EQ(bench.record.evidence_cost.value().probes_s, 0.125);
}

/// Covers NCCL that logs no single calls.
TEST_F(RunEvidence, OfNcclBefore224SaysSo) {
  FakeScript silent = counting_job(3e-4, kSize);
  silent.plan.reset();
  bench.script_of_launch[{0, 0}] = silent;
  bench.machine.software.nccl_library = "2.23.4";
  bench.plan.cases.push_back(parse_case_name("send_recv/float32/64MiB/np2"));
  bench.execute();
  EXPECT_FALSE(result(0).evidence.value().judged);
  EXPECT_EQ(result(0).evidence.value().reason, "NCCL before 2.24");
  EXPECT_EQ(result(0).path, Path::nvlink) << "as NCCL's transport lines say";
  EXPECT_TRUE(bench.record.cases[1].variants[0].evidence.value().judged)
      << "of messages no log speaks";
}

TEST_F(RunEvidence, IsThatOfEachVariantsLibrary) {
  for (const int variant : {0, 1}) {
    FakeScript silent = counting_job(3e-4, kSize);
    silent.plan.reset();
    bench.script_of_launch[{variant, 0}] = silent;
  }
  bench.nccl_of = {{0, "2.28.9"}, {1, "2.23.4"}};
  bench.execute();
  EXPECT_EQ(result(0).evidence.value().reason, kNoAlgorithmNamed);
  EXPECT_EQ(result(1).evidence.value().reason, kCallsNotLogged);
  const std::vector<Software>& software = bench.record.settings.software_in_force;
  ASSERT_EQ(software.size(), 2U);
  EXPECT_EQ(software[0].nccl_library, "2.28.9");
  EXPECT_EQ(software[1].nccl_library, "2.23.4");
}

TEST_F(RunEvidence, ThatContradictsAVariantEndsTheRunAsAWrongPath) {
  bench.plan.variants[1].environment = {{"NCCL_P2P_DISABLE", "1"}};
  bench.machine.links[0].p2p = true;
  bench.execute();
  EXPECT_EQ(judge(bench.record), ExitCode::success);
  bench.script_of_launch[{0, 0}] = counting_job(3e-4, 0);
  bench.record = {};
  bench.execute();
  EXPECT_EQ(judge(bench.record), ExitCode::wrong_path) << "NVLink joins the GPUs, nothing over it";
  bench.script_of_launch = {{{1, 0}, counting_job(3e-3, kSize)}};
  bench.record = {};
  bench.execute();
  EXPECT_EQ(judge(bench.record), ExitCode::wrong_path) << "P2P is off, and yet it carried bytes";
}

TEST_F(RunEvidence, CostsWhatReadingTook) {
  for (int variant : {0, 1}) {
    FakeScript slow = counting_job(variant == 0 ? 3e-4 : 3e-3, variant == 0 ? kSize : 0);
    slow.health_time = Seconds{1e-4};
    slow.counters_time = Seconds{0.25};
    bench.script_of_launch[{variant, 0}] = slow;
  }
  bench.execute();
  const EvidenceCost cost = bench.record.evidence_cost.value();
  EXPECT_NEAR(cost.health_s.value(), 1e-4 * count_samples(bench.record), 1e-9);
  EXPECT_NEAR(cost.counters_s, 0.25 * 3, 1e-9) << "far above what a run pays: the first round's";
}

TEST_F(RunEvidence, CostsOfARunThatGoesOnAreThoseOfAllItsParts) {
  for (int variant : {0, 1}) {
    FakeScript slow = counting_job(variant == 0 ? 3e-4 : 3e-3, variant == 0 ? kSize : 0);
    slow.health_time = Seconds{1e-4};
    slow.counters_time = Seconds{1e-3};
    bench.script_of_launch[{variant, 0}] = slow;
  }
  bench.execute();
  const EvidenceCost earlier = bench.record.evidence_cost.value();
  end_and_go_on(bench);
  const EvidenceCost cost = bench.record.evidence_cost.value();
  EXPECT_NEAR(cost.probes_s, 2 * earlier.probes_s, 1e-9);
  EXPECT_NEAR(cost.counters_s, 2 * earlier.counters_s, 1e-9);
  EXPECT_NEAR(cost.health_s.value(), 2 * earlier.health_s.value(), 1e-9);
}

TEST_F(RunEvidence, CorrectsThePathThatNcclsLogSpokeOf) {
  bench.path_of = [](int, int) { return Path::nvlink; };
  bench.execute();
  EXPECT_EQ(result(1).path, Path::pcie_p2p) << "P2P connections, and nothing over NVLink";
}

TEST_F(RunEvidence, LimitsAreOfThePathTaken) {
  bench.execute();
  const double busbw = result(0).busbw.value();
  EXPECT_NEAR(result(0).fraction_of_limit.value(), busbw / 450.0, 1e-9) << "18 x 25 GB/s";
  EXPECT_EQ(result(0).limit, LimitKind::nvlink_payload);
  EXPECT_NEAR(result(1).fraction_of_limit.value(), result(1).busbw.value() / 40.0, 1e-9)
      << "the slowest direction of the slowest rank";
  EXPECT_EQ(result(1).limit, LimitKind::copy_at_once);
  EXPECT_DOUBLE_EQ(bench.record.machine.ranks[1].host_copy.value().from_gpu_gb_per_s, 40.0);
}

TEST_F(RunEvidence, APairIsComparedWithItsRanksAlone) {
  FakeScript script = counting_job(3e-4, kSize);
  script.host_copy = {HostCopyRates{50.0, 55.0, CopyRates{57.0, 56.0}},
                      HostCopyRates{54.0, 40.0, CopyRates{58.0, 42.0}}};
  bench.script_of_launch[{0, 0}] = script;
  bench.plan.cases = {parse_case_name("copy_push/64MiB/np2/pair=0-1"),
                      parse_case_name("all_reduce/float32/sum/64MiB/np2")};
  bench.execute();
  EXPECT_NEAR(result(1).fraction_of_limit.value(), result(1).busbw.value() / 56.0, 1e-9);
  EXPECT_EQ(result(1).limit, LimitKind::copy_alone);
  const VariantResult& of_all = bench.record.cases.at(1).variants.at(1);
  EXPECT_NEAR(of_all.fraction_of_limit.value(), of_all.busbw.value() / 40.0, 1e-9);
  EXPECT_EQ(of_all.limit, LimitKind::copy_at_once);
}

TEST_F(RunEvidence, HostCopiesThatAreRefusedAreNotMeasured) {
  FakeScript refusing = counting_job(3e-4, kSize);
  refusing.failures = {{"host_copy", FakeFailure::Kind::refuse, {}, 1}};
  bench.script_of_launch[{0, 0}] = refusing;
  bench.execute();
  EXPECT_EQ(bench.record.warnings.at(0).code, "no-host-copy");
  EXPECT_FALSE(result(1).fraction_of_limit);
  EXPECT_TRUE(result(0).fraction_of_limit) << "NVLink's is known";
}

TEST_F(RunEvidence, AJobLostAtHostCopiesCostsItselfAlone) {
  FakeScript dying = counting_job(3e-4, kSize);
  dying.failures = {{"host_copy", FakeFailure::Kind::lost, {}, 1}};
  bench.script_of_launch[{0, 0}] = dying;
  bench.execute();
  EXPECT_EQ(bench.record.warnings.at(0).code, "job-lost");
  EXPECT_FALSE(result(0).time) << "of the only launch";
  EXPECT_TRUE(result(1).fraction_of_limit) << "by the other job's copies";
}

TEST_F(RunEvidence, LinksThatAreNotReadAgainStayThoseOfIdleGpus) {
  FakeScript refusing = counting_job(3e-4, kSize);
  refusing.host_copy = {HostCopyRates{50.0, 55.0}, HostCopyRates{54.0, 40.0}};
  refusing.failures = {{"hello", FakeFailure::Kind::refuse, {}, 2}};
  bench.script_of_launch[{0, 0}] = refusing;
  bench.execute();
  EXPECT_EQ(bench.record.warnings.at(0).code, "idle-pcie-links");
  EXPECT_TRUE(result(1).fraction_of_limit) << "the rates are known";
}

/// Looks again after the handshake, when idle GPUs may have trained their links down.
TEST_F(RunEvidence, PcieLinksAreThoseOfBusyGpus) {
  const auto idle_at_handshake = [&](int generation, int width) {
    protocol::HelloReply hello;
    hello.backend = BackendKind::nccl;
    hello.machine = two_gpus();
    for (RankInfo& rank : hello.machine.ranks) {
      rank.gpu->pcie_generation = generation;
      rank.gpu->pcie_width = width;
    }
    return hello;
  };
  bench.machine = idle_at_handshake(1, 16).machine;
  FakeScript script = counting_job(3e-4, kSize);
  script.later_hello = idle_at_handshake(5, 8);
  script.later_hello->machine.ranks[1].gpu->pcie_generation.reset();
  bench.script_of_launch[{0, 0}] = script;
  bench.execute();
  const std::vector<RankInfo>& ranks = bench.record.machine.ranks;
  EXPECT_EQ(ranks[0].gpu->pcie_generation, 5);
  EXPECT_EQ(ranks[0].gpu->pcie_width, 16) << "what is more";
  EXPECT_EQ(ranks[1].gpu->pcie_generation, 1) << "what is known";
}

TEST_F(RunEvidence, RanksOnSeveralHostsAreNotComparedWithNvlink) {
  bench.machine.ranks[1].host = "node2";
  bench.execute();
  EXPECT_FALSE(result(0).evidence.value().judged);
  EXPECT_THAT(result(0).evidence.value().reason, HasSubstr("hosts"));
}

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

Case all_reduce(std::int64_t size) {
  Case c;
  c.size = Bytes{size};
  return c;
}

/// Makes both ranks' links carry that much in an operation.
FakeScript carrying(std::int64_t bytes) {
  FakeScript script = taking(1e-3);
  script.carried = {{bytes, bytes, {}, {}}, {bytes, bytes, {}, {}}};
  script.plan = kRing;
  return script;
}

void count(Bench& bench, std::int64_t size) {
  bench.result.definition = all_reduce(size);
  bench.settings.traffic.counting = true;
}

std::int64_t readings(const FakeTrace& trace) {
  return std::ranges::count(trace.commands, "counters");
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
  EXPECT_EQ(p2p.plan, kRing);
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
  EXPECT_THAT(evidence.reason, HasSubstr("rank 1"));
}

TEST(TrafficCount, SaysWhyPcieBytesAreAbsent) {
  const LinkCounters some{0, 0, 0, {}};
  const protocol::CountersReply reply{{some, some}, "", "rank 0: Not Supported (NVML error 3)"};
  TrafficCount unsupported(all_reduce(64 * kMiB), kRing, {}, "");
  unsupported.add(reply, reply, 1);
  const LinkCounters all{0, 0, 0, 0};
  TrafficCount round(all_reduce(1024 * kMiB), kRing, {}, "");
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

/// A run of three launches of fake jobs beside NVML's double, whose counters grow in the middle.
class RunWithLinkErrors : public RunBesideNvml {
 protected:
  RunWithLinkErrors() : RunBesideNvml({job(), job()}) {
    bench_.plan.launches = 3;
    bench_.plan.ranks = 2;
    grows_at_ = 3;
  }

  static FakeScript job() {
    FakeScript script;
    script.seconds = 1e-3;
    script.open_time = Seconds{1.0};
    return script;
  }

  void run_with(const std::string& lines) {
    errors_by_then_ = lines;
    execute();
    for (CaseResult& result : bench_.record.cases) {
      for (Sample& sample : result.samples) sample.health = {{40, 300.0, 1980, 0}, {{}, {}, {}, 0}};
    }
  }

  std::string warnings() const {
    std::string text;
    for (const Warning& each : bench_.record.warnings) {
      if (each.code == "link-errors") text += each.text + "\n  " + each.advice + "\n";
    }
    return text;
  }
};

TEST_F(RunWithLinkErrors, NamesLinkAndCounterAndIsUnhealthyWhereThatWasAsked) {
  run_with("0 3 crc_errors 12\n1 3 replays 4\n0 0 pcie_replays 1\n");
  ASSERT_TRUE(bench_.record.link_errors);
  const LinkErrors& errors = *bench_.record.link_errors;
  EXPECT_EQ(errors.readings, 4) << "before the first launch and after each";
  ASSERT_THAT(errors.grown, SizeIs(3));
  EXPECT_GT(errors.grown[0].after_s, 0.0);
  EXPECT_EQ(errors.grown[0].counter, (ErrorCounter{0, ErrorKind::nvlink_crc_errors, 3, 1}));
  EXPECT_EQ(errors.grown[0].growth, 12);
  EXPECT_EQ(judge(bench_.record), ExitCode::unhealthy);
  expect_golden(warnings(), "link_errors.txt");
  bench_.record.settings.require_healthy = false;
  EXPECT_EQ(judge(bench_.record), ExitCode::success) << "a warning else";
}

TEST_F(RunWithLinkErrors, NamesALinkThatGoesDownAndIsUnhealthyWhereThatWasAsked) {
  run_with("0 3 down 1\n");
  ASSERT_THAT(bench_.record.link_errors->grown, SizeIs(1)) << "once, and down until the end";
  EXPECT_EQ(bench_.record.link_errors->grown[0].counter,
            (ErrorCounter{0, ErrorKind::nvlink_outages, 3, 1}));
  EXPECT_EQ(judge(bench_.record), ExitCode::unhealthy);
  expect_golden(warnings(), "link_outage.txt");
}

TEST_F(RunWithLinkErrors, OfALinkWithoutErrorsSaysNothing) {
  run_with("");
  EXPECT_THAT(bench_.record.link_errors->grown, IsEmpty());
  EXPECT_EQ(judge(bench_.record), ExitCode::success);
  EXPECT_EQ(warnings(), "");
}

/// Serves readers of a killed run's journal.
TEST_F(RunWithLinkErrors, TheJournalHasThem) {
  run_with("0 3 crc_errors 12\n");
  const Record journal = read_record(bench_.journal_path());
  ASSERT_TRUE(journal.link_errors);
  EXPECT_EQ(journal.link_errors->grown, bench_.record.link_errors->grown);
}

TEST_F(RunWithLinkErrors, OfARunThatGoesOnHaveTheTimeSinceItsFirstBegin) {
  grows_at_ = 6;
  run_with("0 3 crc_errors 12\n");
  ASSERT_THAT(bench_.record.link_errors->grown, IsEmpty());
  const double wall = bench_.record.wall_seconds.value();
  end_and_go_on(bench_);
  ASSERT_THAT(bench_.record.link_errors->grown, SizeIs(1));
  EXPECT_GT(bench_.record.link_errors->grown[0].after_s, wall);
}

TEST_F(RunWithLinkErrors, WithoutCountersIsWithoutAWarning) {
  bench_.error_counts = {};
  run_with("");
  EXPECT_FALSE(bench_.record.link_errors);
  EXPECT_EQ(judge(bench_.record), ExitCode::success);
  EXPECT_EQ(warnings(), "");
}

/// A run of four launches of one case on two GPUs, whose second tells less from the second on.
class SilentGpu : public ::testing::Test {
 protected:
  SilentGpu() : bench_({job(kAll)}) {
    bench_.set_cases({1024});
    bench_.plan.launches = 4;
  }

  static FakeScript job(const Health& second) {
    FakeScript script;
    script.health = {kAll, second};
    return script;
  }

  std::string warnings_with(const Health& second) {
    for (const int launch : {1, 2}) bench_.script_of_launch[{0, launch}] = job(second);
    bench_.execute();
    std::string text;
    for (const Warning& each : bench_.record.warnings) {
      if (each.code == "gpu-silent") text += each.text + "\n  " + each.advice + "\n";
    }
    return text;
  }

  static constexpr Health kAll{40, 300.0, 1980, 0};
  RunBench bench_;
};

TEST_F(SilentGpu, IsNamedOnceWithWhatItNoLongerTells) {
  expect_golden(warnings_with({{}, {}, {}, {}}), "gpu_silent.txt");
}

TEST_F(SilentGpu, IsOneThatTellsAllButTheReading) {
  const std::string text = warnings_with({40, {}, 1980, 0});
  EXPECT_THAT(text, HasSubstr("its power, in"));
}

TEST_F(SilentGpu, IsNoneThatTellsAll) { EXPECT_EQ(warnings_with(kAll), ""); }

}  // namespace
}  // namespace linkgain::test
