#include "gpu_programs.hpp"

/// `linkgain run` on two real GPUs.
namespace linkgain::test {
namespace {

using ::testing::HasSubstr;

TEST_F(RunOnGpus, TheTwoVariantsTakeTheirOwnPaths) {
  const Outcome outcome = run_linkgain("--only all_reduce,send_recv --sizes 8,1M,64M");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  const Record record = this->record();
  EXPECT_EQ(record.status, RunStatus::complete);
  ASSERT_EQ(record.cases.size(), 6U);
  const bool nvlink = all_pairs(record.machine.links, joined_by_nvlink).value_or(false);
  for (const CaseResult& result : record.cases) {
    if (nvlink) {
      EXPECT_EQ(result.variants[0].path, Path::nvlink) << case_name(result.definition);
    }
    EXPECT_NE(result.variants[1].path, Path::nvlink) << case_name(result.definition);
    EXPECT_NE(result.variants[1].path, Path::pcie_p2p) << case_name(result.definition);
    EXPECT_GE(result.ratios.at(0).ratio.replicates, 2);
  }
  if (nvlink) {
    EXPECT_THAT(outcome.output, HasSubstr("NVLink  all_reduce 64 MiB"));
  }
}

TEST_F(RunOnGpus, SmallOperationsGoByGraphOverManySlots) {
  const Outcome outcome =
      run_linkgain("--only all_reduce,ping_pong --sizes 8,64K,1M --launches 2 --kernels");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  const Record record = this->record();
  ASSERT_EQ(record.cases.size(), 9U) << "NCCL's and our all-reduce, NCCL's ping_pong";
  for (const CaseResult& result : record.cases) {
    const std::string name = case_name(result.definition);
    const bool small = result.definition.size < kLaunchBoundBelow;
    EXPECT_EQ(result.definition.launch, small ? LaunchMode::graph : LaunchMode::stream) << name;
    for (const VariantResult& variant : result.variants) {
      EXPECT_EQ(variant.execution.operations_per_graph, small ? 64 : 0) << name;
      if (!small) continue;
      const bool twice = result.definition.operation == OperationKind::ping_pong;
      EXPECT_EQ(variant.execution.buffer_slots, twice ? 32 : 64) << name;
      EXPECT_EQ(variant.verification.value().wrong, 0) << name;
    }
  }
  const std::string report = std::string(LINKGAIN) + " report " + directory_.string();
  EXPECT_THAT(run_shell(report).output, HasSubstr("| Launch |"));
}

TEST_F(RunOnGpus, SequentialScheduleGivesRatiosToo) {
  const Outcome outcome = run_linkgain("--only all_reduce --sizes 16M --schedule sequential");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  const Record record = this->record();
  EXPECT_EQ(record.settings.schedule, Schedule::sequential);
  EXPECT_EQ(record.cases.at(0).ratios.size(), 1U);
}

}  // namespace
}  // namespace linkgain::test
