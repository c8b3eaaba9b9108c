#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/analysis/run_validity.hpp"
#include "verdict_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

RankInfo rank_on(const std::string& host, int rank) {
  GpuInfo gpu;
  gpu.cuda_index = rank;
  return {.rank = rank, .host = host, .pid = 1, .cpus = "", .gpu = gpu, .host_copy = {}};
}

/// Four samples of two ranks, each with the clock events of its two GPUs.
Record sampled_record(const std::vector<std::vector<std::optional<std::uint64_t>>>& reasons) {
  Record record = good_record();
  record.machine.ranks = {rank_on("node1", 0), rank_on("node1", 1)};
  for (const auto& of_ranks : reasons) {
    Sample sample;
    sample.seconds = {1e-3, 1e-3};
    for (const auto& reason : of_ranks) sample.health.push_back({40, 300.0, 1980, reason});
    record.cases[0].samples.push_back(sample);
  }
  return record;
}

TEST(JudgeHealth, IsSilentWhereNothingHeldBack) {
  Record record = sampled_record({{0, 0x1}, {0x1, 0}});  // 0x1: idle
  record.settings.require_healthy = true;
  EXPECT_EQ(judge(record), ExitCode::success);
  EXPECT_THAT(record.warnings, IsEmpty());
}

TEST(JudgeHealth, NamesGpusEventsAndCounts) {
  Record record = sampled_record({{0, 0x48}, {0x20, 0x40}, {0, 0}, {0, 0}});
  EXPECT_EQ(judge(record), ExitCode::success) << "a warning only";
  ASSERT_THAT(codes(record), ElementsAre("unhealthy-samples"));
  EXPECT_EQ(
      record.warnings[0].text,
      "in 2 of 4 samples a GPU was held back: rank 0 (GPU 0 of node1) in 1 by thermal slowdown "
      "(software); rank 1 (GPU 1 of node1) in 2 by hardware slowdown, thermal slowdown "
      "(hardware)");
  EXPECT_THAT(record.warnings[0].advice, AllOf(HasSubstr("airflow"), Not(HasSubstr("8-pin"))));
}

TEST(JudgeHealth, AdvisesByEvent) {
  const auto advice = [](std::uint64_t reasons) {
    Record record = sampled_record({{reasons, 0}});
    judge(record);
    return warning(record, "unhealthy-samples").advice;
  };
  EXPECT_THAT(advice(0x80 | 0x8), AllOf(HasSubstr("8-pin"), Not(HasSubstr("airflow"))));
  EXPECT_THAT(advice(0x80 | 0x20), AllOf(HasSubstr("8-pin"), HasSubstr("airflow")));
  EXPECT_THAT(advice(0x8), HasSubstr("hardware slowdown"));
}

TEST(JudgeHealth, ThePowerCapIsAWarningOfItsOwn) {
  Record record = sampled_record({{0x4, 0}, {0, 0}});
  record.settings.require_healthy = true;
  EXPECT_EQ(judge(record), ExitCode::success) << "expected under heavy work";
  ASSERT_THAT(codes(record), ElementsAre("power-capped"));
  EXPECT_EQ(record.warnings[0].text,
            "in 1 of 2 samples a GPU ran at its power limit: rank 0 (GPU 0 of node1) in 1 by power "
            "cap");
}

TEST(JudgeHealth, DecidesTheExitCodeOnlyWhereAsked) {
  Record record = sampled_record({{0x40, 0}});
  EXPECT_EQ(judge(record), ExitCode::success);
  record.settings.require_healthy = true;
  EXPECT_EQ(judge(record), ExitCode::unhealthy);
}

TEST(JudgeHealth, WhatWasNotMeasuredCannotBeShownToBeHealthy) {
  for (const auto& reasons : std::vector<std::vector<std::optional<std::uint64_t>>>{
           {std::nullopt, std::nullopt}, {0, std::nullopt}, {}}) {
    Record record = sampled_record({{0, 0}, reasons});
    EXPECT_EQ(judge(record), ExitCode::success);
    EXPECT_THAT(record.warnings, IsEmpty());
    record.settings.require_healthy = true;
    EXPECT_EQ(judge(record), ExitCode::unhealthy);
    EXPECT_THAT(warning(record, "health-not-measured").text, HasSubstr("in 1 of 2 samples"));
  }
  Record record = good_record();
  record.settings.require_healthy = true;
  EXPECT_EQ(judge(record), ExitCode::unhealthy);
  EXPECT_THAT(warning(record, "health-not-measured").text, HasSubstr("no sample was taken"));
}

TEST(JudgeHealth, RanksThatTakeNoPartNeedNoHealth) {
  Record record = sampled_record({{0, std::nullopt}});
  record.cases[0].samples[0].seconds[1].reset();
  record.settings.require_healthy = true;
  EXPECT_EQ(judge(record), ExitCode::success);
}

TEST(JudgeHealth, ComesAfterWrongPath) {
  Record record = sampled_record({{0x40, 0}});
  record.settings.require_healthy = true;
  EXPECT_EQ(judge(record), ExitCode::unhealthy);
  set_path(record, 1, Path::nvlink);
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
  set_wrong(record);
  EXPECT_EQ(judge(record), ExitCode::wrong_data);
  record.status = RunStatus::job_lost;
  EXPECT_EQ(judge(record), ExitCode::incomplete);
  EXPECT_THAT(codes(record), Contains("unhealthy-samples"));
}

}  // namespace
}  // namespace linkgain::test
