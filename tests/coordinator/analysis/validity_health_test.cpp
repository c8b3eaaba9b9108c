#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/analysis/run_validity.hpp"
#include "support/golden.hpp"
#include "verdict_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::Contains;

RankInfo rank_on(const std::string& host, int rank) {
  GpuInfo gpu;
  gpu.cuda_index = rank;
  return {.rank = rank, .host = host, .pid = 1, .cpus = "", .gpu = gpu, .host_copy = {}};
}

/// Has four samples of two ranks, each with the clock events of its two GPUs.
Record sampled_record(const std::vector<std::vector<std::optional<std::uint64_t>>>& reasons) {
  Record record = good_record();
  record.machine.ranks = {rank_on("node1", 0), rank_on("node1", 1)};
  for (const auto& of_ranks : reasons) {
    Sample sample;
    sample.times = {Seconds{1e-3}, Seconds{1e-3}};
    for (const auto& reason : of_ranks) sample.health.push_back({40, 300.0, 1980, reason});
    record.cases[0].samples.push_back(sample);
  }
  return record;
}

TEST(JudgeHealth, WarnsAndDecidesTheExitCodeWhereAsked) {
  std::string text;
  const auto add = [&](const std::string& situation, const Record& record) {
    text += judged(situation, record, [](Record&) {});
    text += judged("the same with --require-healthy", record,
                   [](Record& demanding) { demanding.settings.require_healthy = true; });
  };
  add("nothing but idle", sampled_record({{0, 0x1}, {0x1, 0}}));
  add("both GPUs in 2 of 4 samples", sampled_record({{0, 0x48}, {0x20, 0x40}, {0, 0}, {0, 0}}));
  add("hardware slowdown alone", sampled_record({{0x8, 0}}));
  add("power brake", sampled_record({{0x80 | 0x8, 0}}));
  add("power brake and heat", sampled_record({{0x80 | 0x20, 0}}));
  add("power cap in 1 of 2 samples", sampled_record({{0x4, 0}, {0, 0}}));
  add("no rank measured in 1 of 2 samples", sampled_record({{0, 0}, {std::nullopt, std::nullopt}}));
  add("one rank not measured in 1 of 2 samples", sampled_record({{0, 0}, {0, std::nullopt}}));
  add("no rank known in 1 of 2 samples", sampled_record({{0, 0}, {}}));
  add("no samples", good_record());
  Record absent = sampled_record({{0, std::nullopt}});
  absent.cases[0].samples[0].times[1].reset();
  add("a rank that takes no part is not measured", absent);
  expect_golden(text, "warnings_of_health.txt");
}

TEST(JudgeHealth, RequiredIsAGpuWithoutOthers) {
  Record record = sampled_record({{0, 0}});
  record.neighbours = Neighbours{.looks = 3};
  record.settings.require_healthy = true;
  EXPECT_EQ(judge(record), ExitCode::success);
  record.neighbours->seen = {{.gpu = 0, .busy_percent = 97.0}};
  EXPECT_EQ(judge(record), ExitCode::unhealthy);
  record.settings.require_healthy = false;
  EXPECT_EQ(judge(record), ExitCode::success);
}

TEST(JudgeHealth, RequiredIsALookAtTheGpus) {
  Record record = sampled_record({{0, 0}});
  const auto with = [&](const Neighbours& neighbours) {
    Record judged = record;
    judged.neighbours = neighbours;
    const ExitCode code = judge(judged);
    EXPECT_EQ(codes(judged).size(), record.settings.require_healthy ? 1U : 0U);
    return code;
  };
  const Neighbours none{.not_looked = "NVML cannot start"};
  const Neighbours some{.looks = 3, .not_looked = "those of other hosts are not looked at"};
  EXPECT_EQ(with(none), ExitCode::success) << "nobody asked";
  record.settings.require_healthy = true;
  EXPECT_EQ(with(none), ExitCode::unhealthy);
  EXPECT_EQ(with(some), ExitCode::unhealthy);
  record.machine.ranks[1].host = "node2";
  EXPECT_EQ(with(none), ExitCode::unhealthy);
  EXPECT_EQ(with(some), ExitCode::success) << "they cannot be";
}

TEST(JudgeLevelShifts, NamesCaseVariantAndLaunch) {
  Record record = good_record();
  record.cases[1].variants[1].level_shift = LevelShift{2, 2, 2.4};
  EXPECT_EQ(judge(record), ExitCode::success);
  ASSERT_THAT(codes(record), ::testing::ElementsAre("level-change"));
  expect_golden(record.warnings[0].text + "\n", "level_change.txt");
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
