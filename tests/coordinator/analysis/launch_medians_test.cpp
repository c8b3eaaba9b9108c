#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "linkgain/analysis/launch_statistics.hpp"
#include "support/golden.hpp"
#include "support/launch_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<CaseLaunches> medians(const std::vector<Record>& records) {
  std::vector<NamedRecord> named;
  for (const Record& record : records) named.push_back({"r", record});
  return launch_medians(named);
}

TEST(LaunchMedians, AreThoseOfTheSlowestRankInEachLaunch) {
  const auto all = medians({run_of({{sized(8), "p2p", {1e-3, 2e-3}}, {sized(8), "host", {4e-3}}})});
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_THAT(all[0].launches,
              ElementsAre(LaunchMedian{0, Seconds{1e-3}}, LaunchMedian{1, Seconds{2e-3}}));
  EXPECT_EQ(all[1].variant, "host");
  EXPECT_THAT(all[1].launches, ElementsAre(LaunchMedian{0, Seconds{4e-3}}));
  EXPECT_DOUBLE_EQ(mean_log(all[0].launches), 0.5 * (std::log(1e-3) + std::log(2e-3)));
}

TEST(LaunchMedians, CountLaunchesThroughAllRecords) {
  const Record first = run_of({{sized(8), "p2p", {1e-3, 2e-3}}});
  const Record second = run_of({{sized(16), "p2p", {5e-3}}, {sized(8), "p2p", {3e-3}}});
  const auto all = medians({first, second});
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_THAT(all[0].launches,
              ElementsAre(LaunchMedian{0, Seconds{1e-3}}, LaunchMedian{1, Seconds{2e-3}},
                          LaunchMedian{2, Seconds{3e-3}}));
  EXPECT_THAT(all[0].runs, ElementsAre(0, 0, 1));
  EXPECT_THAT(all[1].launches, ElementsAre(LaunchMedian{2, Seconds{5e-3}}));
}

TEST(LaunchMedians, SayWhyThereAreNone) {
  Record record =
      run_of({{sized(8), "p2p", {}}, {sized(16), "p2p", {1e-3}}, {sized(32), "p2p", {}}});
  record.cases[0].variants[0].skipped = Skip{.refusal = "no memory"};
  record.cases[1].samples.resize(2);  // of three
  Case metric;
  metric.metric = ProgramMetric{.name = "loss"};
  Record program = run_of({{metric, "a", {1.0, 1.1}}, {metric, "b", {2.0, 2.1, 2.2}}});
  program.runs = {{.variant = "a", .warm_up = true}};
  for (const char* variant : {"a", "a", "b", "b", "b", "b"}) {
    program.runs.push_back({.variant = variant});
  }
  const auto runs = medians({program});
  EXPECT_THAT(runs[0].launches, SizeIs(2)) << "all of them";
  auto all = medians({record});
  all.push_back(runs[1]);
  std::string text;
  for (const CaseLaunches& each : all) {
    EXPECT_THAT(each.launches, IsEmpty());
    text += each.missing + "\n";
  }
  expect_golden(text, "missing_launches.txt");
}

TEST(LaunchMedians, OfAnotherRecordFillInForASkippedCase) {
  Record without = run_of({{sized(8), "p2p", {}}});
  without.cases[0].variants[0].skipped = Skip{.refusal = "no memory"};
  const Record with = run_of({{sized(8), "p2p", {1e-3}}});
  for (const auto& all : {medians({without, with}), medians({with, without})}) {
    EXPECT_THAT(all[0].launches, SizeIs(1));
    EXPECT_EQ(all[0].missing, "");
  }
}

TEST(LaunchMedians, KeepPathsWrongDataAndHealth) {
  Record first = run_of({{sized(8), "p2p", {1e-3}}});
  Record second = run_of({{sized(8), "p2p", {1e-3}, Path::host_memory}});
  Record third = run_of({{sized(8), "p2p", {1e-3}, Path::unknown}});
  second.cases[0].variants[0].verification = Verification{4, 1, 0.0, 0.0, "rank 1, element 0"};
  second.cases[0].variants[0].health.unhealthy_samples = 2;
  third.cases[0].variants[0].health.unhealthy_samples = 1;
  first.cases[0].variants[0].disturbed_samples = 2;
  first.cases[0].variants[0].level_shift = LevelShift{0, 2, 1.1};
  third.cases[0].variants[0].disturbed_samples = 1;
  third.cases[0].variants[0].level_shift = LevelShift{0, 2, 0.8};
  EXPECT_FALSE(medians({first, second})[0].path_unknown);
  EXPECT_FALSE(medians({run_of({{sized(8), "p2p", {}, Path::unknown}})})[0].path_unknown)
      << "not measured";
  const auto all = medians({first, second, third});
  EXPECT_TRUE(all[0].path_unknown);
  EXPECT_EQ(all[0].disturbance.samples, 3);
  EXPECT_EQ(all[0].disturbance.level_change, 0.8) << "the larger of the two changes";
  EXPECT_THAT(all[0].paths, ElementsAre(Path::nvlink, Path::host_memory));
  EXPECT_THAT(all[0].wrong_data, EndsWith("rank 1, element 0"));
  EXPECT_THAT(all[0].launches, IsEmpty()) << "of any record";
  EXPECT_EQ(all[0].unhealthy_samples, 3);
}

TEST(ByRun, TakesTheMeanOfEachRunsLaunches) {
  CaseLaunches of_one = launches_of(sized(8), {1.0, 4.0, 9.0});
  CaseLaunches of_two = of_one;
  of_two.runs = {0, 0, 3};
  const auto runs = by_run(std::vector{of_one, of_two});
  ASSERT_THAT(runs[0].launches, SizeIs(1));
  EXPECT_NEAR(runs[0].launches[0].time.value, std::cbrt(36.0), 1e-12);
  EXPECT_THAT(runs[0].runs, ElementsAre(0));
  ASSERT_THAT(runs[1].launches, SizeIs(2));
  EXPECT_NEAR(runs[1].launches[0].time.value, 2.0, 1e-12);
  EXPECT_NEAR(runs[1].launches[1].time.value, 9.0, 1e-12);
  EXPECT_THAT(runs[1].runs, ElementsAre(0, 3));
}

}  // namespace
}  // namespace linkgain::test
