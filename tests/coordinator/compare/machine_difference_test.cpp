#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compared_runs.hpp"
#include "linkgain/compare/run_comparison.hpp"

namespace linkgain::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> rows_of(const RunFigures& before, const RunFigures& after) {
  std::vector<std::string> rows;
  for (const MachineDifference& change : compare_runs(before, after, {}).changes) {
    rows.push_back(change.what + " | " + change.before + " | " + change.after);
  }
  return rows;
}

TEST(Changes, OfLikeRunsAreNone) {
  EXPECT_THAT(rows_of(two_titans("a", true), two_titans("b", true)), IsEmpty());
}

TEST(Changes, ShowTheBridgeFirst) {
  RunFigures after = two_titans("b", true);
  after.machine.software.driver = "590.2";
  EXPECT_THAT(
      rows_of(two_titans("a", false), after),
      ElementsAre("GPU0–GPU1 | PHB without P2P | NV2", "GPU0 active NVLinks | 0 of 2 | 2 of 2",
                  "GPU1 active NVLinks | 0 of 2 | 2 of 2", "driver | 580.1 | 590.2"));
}

TEST(Changes, NameGpusLinksAndHost) {
  const RunFigures before = two_titans("a", true);
  RunFigures after = two_titans("b", true);
  after.machine.host = "other";
  after.machine.ranks[1].gpu->uuid = "GPU-7";
  after.machine.ranks[0].gpu->pcie_width = 8;
  after.machine.ranks[0].host_copy = HostCopyRates{6.0, 12.4};
  EXPECT_THAT(rows_of(before, after), ElementsAre("GPU0 PCIe | gen 3 x16 | gen 3 x8",
                                                  "GPU0 copies to it | 12 GB/s | 6 GB/s",
                                                  "GPU1 | GPU-1 | GPU-7", "host | box | other"));
  after = two_titans("b", true);
  for (RankInfo& rank : after.machine.ranks) rank.gpu->name = "NVIDIA H200";
  EXPECT_THAT(rows_of(before, after), ElementsAre("GPUs | 2 x NVIDIA TITAN RTX | 2 x NVIDIA H200"));
}

TEST(Changes, TellTheSumOfNvlinksThatDiffer) {
  RunFigures before = two_titans("a", true);
  for (RankInfo& rank : before.machine.ranks) {
    rank.gpu->nvlink_links_active = 2;
    rank.gpu->nvlink_rate_gb_per_s = 12.5;
  }
  RunFigures after = before;
  after.machine.ranks[1].gpu->nvlink_total_gb_per_s = 25.0;
  EXPECT_THAT(rows_of(before, after), IsEmpty()) << "an older record's links are alike";
  after.machine.ranks[1].gpu->nvlink_total_gb_per_s = 37.5;
  EXPECT_THAT(rows_of(before, after), IsEmpty()) << "or were not, which it does not say";
  before.machine.ranks[1].gpu->nvlink_total_gb_per_s = 25.0;
  EXPECT_THAT(rows_of(before, after), ElementsAre("GPU1 rate of all NVLinks in GB/s | 25 | 37.5"));
}

TEST(Changes, LeaveOutWhatOneSideDoesNotTell) {
  RunFigures before = two_titans("a", true);
  before.machine = {};
  before.settings = {};
  EXPECT_THAT(rows_of(before, two_titans("b", true)), IsEmpty());
  before = two_titans("a", true);
  before.machine.links[0].ancestor.reset();
  before.machine.links[0].nvlink.reset();
  EXPECT_THAT(rows_of(before, two_titans("b", true)), IsEmpty());
}

TEST(Changes, NameLibrariesAndWorkersByVariantWhereTheyDiffer) {
  RunFigures before = two_titans("a", true);
  before.machine.software.nccl_build = "2.28.3+cuda12.9";
  before.machine.software.linkgain = "0.1.0";
  before.settings.software_in_force.assign(before.settings.variants.size(),
                                           before.machine.software);
  RunFigures after = before;
  for (Software& each : after.settings.software_in_force) each.nccl_build = "2.28.3+cuda13.0";
  after.machine.software = after.settings.software_in_force[0];
  EXPECT_THAT(rows_of(before, after), ElementsAre("NCCL | 2.28.3+cuda12.9 | 2.28.3+cuda13.0"))
      << "alike in all variants";
  Software& host = after.settings.software_in_force[1];
  host.nccl_library = "2.29.7";
  host.nccl_build.reset();
  host.linkgain = "0.2.0";
  after.settings.variants[1].worker = "/opt/linkgain-bench";
  EXPECT_THAT(
      rows_of(before, after),
      ElementsAre("NCCL with p2p | 2.28.3+cuda12.9 | 2.28.3+cuda13.0",
                  "NCCL with host | 2.28.3 | 2.29.7", "linkgain with host | 0.1.0 | 0.2.0"));
}

TEST(Changes, NameVariablesByVariant) {
  const RunFigures before = two_titans("a", true);
  RunFigures after = two_titans("b", true);
  after.settings.environment_in_force[0]["NCCL_ALGO"] = "Ring";
  after.settings.environment_in_force[1].erase("NCCL_P2P_DISABLE");
  after.settings.environment_in_force[1]["NCCL_DEBUG_FILE"] = "/tmp/x";
  after.settings.environment_in_force[1]["OMPI_MCA_ras"] = "^slurm";
  EXPECT_THAT(rows_of(before, after), ElementsAre("NCCL_ALGO with p2p | not set | Ring",
                                                  "NCCL_P2P_DISABLE with host | 1 | not set"));
}

TEST(Changes, OfOneVariantAgainstAnotherShowItsVariables) {
  RunFigures before = two_titans("a", true);
  before.settings.variants = {before.settings.variants[1]};
  before.settings.environment_in_force = {{{"NCCL_P2P_DISABLE", "1"}}};
  RunFigures after = two_titans("b", true);
  after.settings.variants.pop_back();
  EXPECT_THAT(rows_of(before, after),
              ElementsAre("variants | host | p2p", "NCCL_P2P_DISABLE | 1 | not set"));
}

TEST(Changes, ShowClocksThatDifferClearly) {
  RunFigures before = two_titans("a", true);
  RunFigures after = before;
  before.cases = {timed(kLarge, "p2p", {1.0})};
  after.cases = before.cases;
  before.cases[0].health.highest_sm_clock_mhz = 1980;
  after.cases[0].health.highest_sm_clock_mhz = 1965;
  EXPECT_THAT(rows_of(before, after), IsEmpty());
  after.cases[0].health.highest_sm_clock_mhz = 1410;
  EXPECT_THAT(rows_of(before, after), ElementsAre("highest SM clock seen | 1980 MHz | 1410 MHz"));
}

TEST(Changes, ShowEveryLimitOfClocksAndPower) {
  RunFigures before = two_titans("a", true);
  RunFigures after = before;
  GpuInfo& gpu = *before.machine.ranks[1].gpu;
  gpu.most_sm_clock_mhz = 2100;
  gpu.application_clock_mhz = 1410;
  gpu.most_custom_boost_clock_mhz = 1770;
  gpu.power_limit_w = 280.0;
  EXPECT_THAT(rows_of(before, after), IsEmpty()) << "an older record tells none";
  GpuInfo& limited = *after.machine.ranks[1].gpu;
  limited.most_sm_clock_mhz = 2085;
  limited.application_clock_mhz = 1350;
  limited.most_custom_boost_clock_mhz = 1755;
  limited.power_limit_w = 199.5;
  EXPECT_THAT(rows_of(before, after),
              ElementsAre("GPU1 highest SM clock possible | 2100 MHz | 2085 MHz",
                          "GPU1 application clock | 1410 MHz | 1350 MHz",
                          "GPU1 highest boost clock allowed | 1770 MHz | 1755 MHz",
                          "GPU1 power limit | 280 W | 199.5 W"));
  for (const MachineDifference& change : compare_runs(before, after, {}).changes) {
    EXPECT_EQ(change.kind, DifferenceKind::clock) << change.what;
  }
  for (RankInfo& rank : after.machine.ranks) rank.gpu->name = "NVIDIA H200";
  EXPECT_THAT(rows_of(before, after), ElementsAre("GPUs | 2 x NVIDIA TITAN RTX | 2 x NVIDIA H200"));
}

TEST(Changes, NameWhatTrainingsWereAskedFor) {
  RunFigures before = two_titans("a", true);
  RunFigures after = before;
  before.settings.training = TrainingPlan{};
  EXPECT_THAT(rows_of(before, after), IsEmpty()) << "only one trained";
  after.settings.training = TrainingPlan{.steps = 100, .tokens = "wiki.bin"};
  EXPECT_THAT(rows_of(before, after), ElementsAre("steps of a training | 200 | 100",
                                                  "tokens of a training | generated | wiki.bin"));
  for (const MachineDifference& change : compare_runs(before, after, {}).changes) {
    EXPECT_EQ(change.kind, DifferenceKind::setting) << change.what;
  }
}

TEST(Changes, NameWhatAProgramWasRunAs) {
  RunFigures before = two_titans("a", true);
  RunFigures after = before;
  before.settings.program.emplace().command = {"train", "--steps", "10"};
  EXPECT_THAT(rows_of(before, after), IsEmpty()) << "only one ran a program";
  after.settings.program = before.settings.program;
  EXPECT_THAT(rows_of(before, after), IsEmpty());
  after.settings.program = ProgramPlan{.command = {"train", "a b"},
                                       .server = "serve",
                                       .prepare = "sync",
                                       .cleanup = "rm x",
                                       .metrics = {"loss: last of 'l'"},
                                       .warm_up = 1};
  before.settings.program->metrics = {"loss: first of 'l'", "steps: last of 's'"};
  after.settings.variants[1].arguments = {"--fast", "2"};
  after.settings.variants[0].name = "other";
  EXPECT_THAT(rows_of(before, after),
              ElementsAre("command | train --steps 10 | train 'a b'", "server | none | serve",
                          "command before a run | none | sync", "command after a run | none | rm x",
                          "metrics | loss: first of 'l'; steps: last of 's' | loss: last of 'l'",
                          "warm-up runs | 0 | 1", "arguments with host | none | --fast 2",
                          "variants | p2p, host | other, host"));
}

TEST(Changes, NameWhoMeasuredAndHow) {
  const RunFigures before = two_titans("a", true);
  RunFigures after = before;
  after.settings.schedule = Schedule::sequential;
  after.settings.sample_target = Seconds{0.01};
  after.settings.backend = BackendKind::mpi;
  EXPECT_THAT(rows_of(before, after),
              ElementsAre("backend | nccl | mpi", "schedule | paired | sequential",
                          "seconds a sample lasts | 0.003 | 0.01"));
  after.source = RunSource::nccl_tests;
  EXPECT_THAT(rows_of(before, after),
              ElementsAre("measured with | linkgain | nccl-tests", "backend | nccl | mpi"))
      << "another program has no such settings";
}

TEST(Changes, NameTheHostAndWhatIsEmpty) {
  RunFigures before = two_titans("a", true);
  before.machine.processor = "Xeon";
  before.machine.processors = 64;
  before.machine.kernel = "6.1";
  before.settings.environment_in_force[0]["NCCL_ALGO"] = "";
  RunFigures after = before;
  after.machine.processor = "EPYC";
  after.machine.processors = 128;
  after.machine.kernel = "6.8";
  after.settings.environment_in_force[0]["NCCL_ALGO"] = "Tree";
  EXPECT_THAT(rows_of(before, after),
              ElementsAre("processor | Xeon | EPYC", "CPUs | 64 | 128", "kernel | 6.1 | 6.8",
                          "NCCL_ALGO with p2p | empty | Tree"));
  before.settings.environment_in_force.clear();
  before.settings.variants[0].environment = {{"NCCL_ALGO", "Ring"}};
  before.machine = after.machine;
  EXPECT_THAT(rows_of(before, after), ElementsAre("NCCL_ALGO with p2p | Ring | Tree"))
      << "what a variant sets, where nobody recorded what was in force";
}

TEST(DifferenceKinds, HaveTheNamesOfTheJson) {
  EXPECT_THAT(names_of(kValues<DifferenceKind>),
              ElementsAre("link", "pcie", "gpu", "clock", "driver", "nccl", "software", "host",
                          "variable", "setting"));
}

TEST(Changes, CountTheLinksOfEveryPair) {
  const RunFigures before = four_titans("a", {2, 18, 18, 0, 18, 18});
  EXPECT_THAT(rows_of(before, four_titans("b", {2, 18, 18, 0, 18, 18})), IsEmpty());
  EXPECT_THAT(
      rows_of(before, four_titans("b", {4, 18, 18, 18, 18, 0})),
      ElementsAre("GPU0–GPU1 | NV2 | NV4", "GPU1–GPU2 | PHB | NV18", "GPU2–GPU3 | NV18 | PHB"));
}

TEST(Changes, TakeNoCountForAnotherOne) {
  const RunFigures counted = four_titans("a", {4, 4, 4, 4, 4, 4});
  RunFigures older = counted;
  for (PairLink& link : older.machine.links) link.nvlinks.reset();
  EXPECT_THAT(rows_of(older, counted), IsEmpty());
  EXPECT_THAT(rows_of(counted, older), IsEmpty());
  RunFigures two = two_titans("c", true);
  two.machine.links[0].nvlinks = 1;
  EXPECT_THAT(rows_of(two_titans("d", true), two), IsEmpty())
      << "the GPU's links go elsewhere, too";
}

TEST(Changes, OfTheRanksThatBothHave) {
  RunFigures two = two_titans("a", true);
  two.machine.links[0] = {.from = 1, .to = 0, .p2p = true, .nvlink = true, .nvlinks = 2};
  const auto changes = rows_of(two, four_titans("b", {4, 4, 4, 4, 4, 4}));
  ASSERT_THAT(changes, Contains("GPU0–GPU1 | NV2 | NV4"));
  RunFigures older = four_titans("b", {4, 4, 4, 4, 4, 4});
  for (PairLink& link : older.machine.links) link.nvlinks.reset();
  EXPECT_THAT(rows_of(two_titans("a", true), older),
              ElementsAre("GPUs | 2 x NVIDIA TITAN RTX | 4 x NVIDIA TITAN RTX"));
}

}  // namespace
}  // namespace linkgain::test
