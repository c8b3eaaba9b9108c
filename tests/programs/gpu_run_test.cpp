#include "gpu_programs.hpp"

/// `linkgain run` on two real GPUs.
namespace linkgain::test {
namespace {

using ::testing::HasSubstr;

TEST_F(RunOnGpus, TheTwoVariantsTakeTheirOwnRoads) {
  const Outcome outcome = run_linkgain("--only all_reduce,send_recv --sizes 8,1M,64M");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  const Record record = this->record();
  EXPECT_EQ(record.status, RunStatus::complete);
  ASSERT_EQ(record.cases.size(), 6U);
  const bool nvlink = all_pairs(record.machine.links, &PairLink::nvlink).value_or(false);
  for (const CaseResult& result : record.cases) {
    if (nvlink) {
      EXPECT_EQ(result.variants[0].path, Path::nvlink) << case_name(result.definition);
    }
    EXPECT_NE(result.variants[1].path, Path::nvlink) << case_name(result.definition);
    EXPECT_NE(result.variants[1].path, Path::pcie_p2p) << case_name(result.definition);
    EXPECT_GE(result.ratios.at(0).ratio.launches, 2);
  }
  if (nvlink) {
    EXPECT_THAT(outcome.output, HasSubstr("| NVLink | all_reduce 64 MiB |"));
  }
}

TEST_F(RunOnGpus, ADyingRankCostsOnlyItsVariant) {
  const Outcome outcome = run_linkgain(
      "--only all_reduce --sizes 1M --variant p2p "
      "--variant dying:NCCL_P2P_DISABLE=1,LINKGAIN_TEST_FAULT=die@1:5 --deadline 20");
  EXPECT_EQ(outcome.status, 6) << outcome.output;
  const Record record = this->record();
  EXPECT_EQ(record.status, RunStatus::job_lost);
  EXPECT_TRUE(record.cases.at(0).variants.at(0).time.has_value());
  EXPECT_THAT(outcome.output, HasSubstr("dying"));
}

TEST_F(RunOnGpus, AHangingRankIsEndedAtItsDeadline) {
  const Outcome outcome = run_linkgain(
      "--only all_reduce --sizes 1M --variant p2p "
      "--variant hanging:NCCL_P2P_DISABLE=1,LINKGAIN_TEST_FAULT=hang@1:5 --deadline 5");
  EXPECT_EQ(outcome.status, 6) << outcome.output;
  EXPECT_TRUE(record().cases.at(0).variants.at(0).time.has_value());
  EXPECT_EQ(run_shell("pgrep -f 'linkgain-benc[h] --serve'").status, 1) << "processes are left";
}

TEST_F(RunOnGpus, SequentialScheduleGivesRatiosToo) {
  const Outcome outcome = run_linkgain("--only all_reduce --sizes 16M --schedule sequential");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  const Record record = this->record();
  EXPECT_EQ(record.settings.schedule, "sequential");
  EXPECT_EQ(record.cases.at(0).ratios.size(), 1U);
}

}  // namespace
}  // namespace linkgain::test
