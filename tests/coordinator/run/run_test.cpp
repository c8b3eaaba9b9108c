#include "linkgain/run/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/base/errors.hpp"
#include "measurement.hpp"
#include "run_support.hpp"
#include "support/full_record.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = FakeFailure::Kind;

constexpr const char* kSecond = "all_reduce/float32/sum/64KiB/np2";

/// The journal on disk holds what the record holds, but for what only the end of a run decides.
void expect_journal_equals_record(const RunBench& bench) {
  Record journal = read_record(bench.journal_path());
  summarise(journal);
  EXPECT_EQ(journal.status, RunStatus::incomplete);
  EXPECT_TRUE(same(journal.machine, bench.record.machine));
  EXPECT_TRUE(same(journal.settings, bench.record.settings));
  EXPECT_TRUE(same_but_for_order(journal.cases, bench.record.cases));
  EXPECT_TRUE(same(journal.warnings, bench.record.warnings));
}

TEST(Run, MeasuresEveryCaseInEveryVariant) {
  RunBench bench({taking(1e-4), taking(3e-4)});
  bench.path_of = [](int variant, int) { return variant == 0 ? Path::nvlink : Path::network; };
  bench.execute();
  EXPECT_EQ(bench.record.status, RunStatus::complete);
  EXPECT_EQ(bench.record.machine.host, "node1");
  ASSERT_EQ(bench.record.cases.size(), 2U);
  for (const CaseResult& result : bench.record.cases) {
    EXPECT_EQ(result.stopped, StopReason::launches_differ) << "one launch cannot tell";
    EXPECT_NEAR(result.ratios.at(0).ratio.value, 3.0, 1e-12);
    EXPECT_EQ(result.variants[0].path, Path::nvlink);
    EXPECT_EQ(result.variants[1].path, Path::network);
    EXPECT_TRUE(result.variants[1].verification);
  }
  EXPECT_EQ(count_samples(bench.record), 2 * 2 * 4);
  EXPECT_THAT(
      bench.record.settings.environment_in_force,
      ElementsAre(Environment{{"OMPI_MCA_btl", "of v0"}}, Environment{{"OMPI_MCA_btl", "of v1"}}));
  for (const FakeTrace& trace : bench.traces) EXPECT_TRUE(trace.finished && trace.gone);
  expect_journal_equals_record(bench);
}

TEST(Run, LaunchesAreReplicates) {
  RunBench bench({taking(1e-4), taking(2e-4)});
  bench.plan.launches = 3;
  bench.script_of_launch[{0, 1}] = taking(1.001e-4);
  bench.script_of_launch[{1, 1}] = taking(2e-4 * std::exp(0.3));
  bench.script_of_launch[{1, 2}] = taking(2e-4 * std::exp(0.6));
  bench.execute();
  EXPECT_EQ(bench.started.size(), 6U);
  const Estimate& ratio = bench.record.cases[0].ratios.at(0).ratio;
  EXPECT_NEAR(ratio.value, 2.0 * std::exp(0.3), 1e-3);
  EXPECT_EQ(ratio.replicates, 3);
  EXPECT_GT(ratio.interval->high, 2.0 * std::exp(0.6));
  EXPECT_EQ(bench.record.cases.back().samples.back().launch, 2);
  expect_journal_equals_record(bench);
}

TEST(Run, SkipsWhatNoBudgetIsLeftFor) {
  FakeScript slow = taking(1e-4);
  slow.open_time = Seconds{2.0};
  RunBench bench({slow, slow});
  bench.set_cases({1024, 2048, 4096});
  bench.plan.budget = Seconds{5.0};
  bench.plan.launches = 4;
  bench.execute();
  EXPECT_EQ(bench.record.cases[2].ratios.at(0).ratio.replicates, 1) << "the second was cut";
  EXPECT_EQ(bench.record.cases[2].stopped, StopReason::out_of_time);
  const CaseResult& last = bench.record.cases[1];
  EXPECT_EQ(last.stopped, StopReason::out_of_time);
  EXPECT_FALSE(last.variants[0].time);
  EXPECT_EQ(last.variants[0].skipped, Skip{SkipReason::out_of_time});
  EXPECT_EQ(last.variants[1].skipped, Skip{SkipReason::out_of_time});
  EXPECT_LT(bench.clock.now().value, 7.0) << "it was being opened in one variant";
  expect_journal_equals_record(bench);
}

TEST(Run, ALaterLaunchOutOfBudgetLeavesEarlierResultsAlone) {
  FakeScript slow = taking(1e-4);
  slow.open_time = Seconds{1.0};
  FakeScript refusing = slow;
  refusing.failures = {{.command = "open", .kind = Kind::refuse, .case_name = kSecond}};
  RunBench bench({slow, slow, refusing});
  FakeScript slower = slow;
  slower.open_time = Seconds{10.0};
  bench.script_of_launch[{0, 1}] = slower;
  bench.set_cases({1024, 65536, 131072});
  bench.plan.launches = 2;
  bench.plan.budget = Seconds{25.0};
  bench.execute();
  const CaseResult& second = bench.record.cases[1];
  EXPECT_TRUE(second.variants[0].time);
  EXPECT_FALSE(second.variants[0].skipped);
  EXPECT_EQ(second.variants[2].skipped, Skip{.refusal = "the fake refuses"});
  EXPECT_EQ(second.stopped, StopReason::out_of_time);
}

TEST(Run, InterruptedKeepsWhatWasMeasured) {
  RunBench bench(
      {taking(1e-4),
       failing(
           {.command = "run", .kind = Kind::interrupt, .case_name = kSecond, .occurrence = 4})});
  bench.path_of = [](int, int) { return Path::host_memory; };
  EXPECT_THROW(bench.execute(), Interrupted);
  EXPECT_EQ(bench.record.status, RunStatus::incomplete) << "the caller knows better";
  EXPECT_EQ(bench.record.cases[0].stopped, StopReason::launches_differ);
  const CaseResult& cut = bench.record.cases[1];
  EXPECT_EQ(cut.stopped, StopReason::interrupted);
  EXPECT_EQ(cut.ratios.at(0).ratio.replicates, 1);
  EXPECT_EQ(cut.variants[1].time, Seconds{1e-4});
  EXPECT_EQ(cut.variants[1].path, Path::host_memory);
  for (const FakeTrace& trace : bench.traces) EXPECT_TRUE(trace.gone);
  expect_journal_equals_record(bench);
}

}  // namespace
}  // namespace linkgain::test
