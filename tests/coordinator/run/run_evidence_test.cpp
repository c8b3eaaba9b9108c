#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/record/limits.hpp"
#include "run_support.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kSize = std::int64_t{64} << 20;
const TransferPlan kRing{"RING", "SIMPLE"};

/// Of NCCL 2.24 or later: it tells its algorithm.
FakeScript counting_job(double seconds, std::int64_t carried) {
  FakeScript script;
  script.plan = kRing;
  script.seconds = seconds;
  script.carried = {{carried, carried, {}, {}}, {carried, carried, {}, {}}};
  script.host_copy = {HostCopyRates{50.0, 55.0}, HostCopyRates{54.0, 40.0}};
  return script;
}

/// Two GPUs of 18 links of NVLink 4 each.
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

/// It cannot be made to log single calls.
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

/// GPUs are idle at the handshake, when they may have trained their links down.
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

}  // namespace
}  // namespace linkgain::test
