#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/run/run.hpp"
#include "run_support.hpp"
#include "support/full_record.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using Kind = FakeFailure::Kind;

void expect_variant_0_complete(const Record& record) {
  for (const CaseResult& result : record.cases) {
    EXPECT_TRUE(result.variants[0].time);
    EXPECT_TRUE(result.variants[0].verification);
  }
}

TEST(RunLoss, OfAllJobsAtHelloIsTheMachinesFault) {
  for (const Kind kind : {Kind::lost, Kind::refuse, Kind::hang}) {
    for (const Schedule schedule : kValues<Schedule>) {
      const FakeScript script = failing({.command = "hello", .kind = kind});
      RunBench bench({script, script});
      bench.plan.schedule = schedule;
      try {
        bench.execute();
        FAIL() << "accepted";
      } catch (const MachineError& error) {
        EXPECT_THAT(error.what(), HasSubstr(kind == Kind::refuse ? "refuses" : "lost"));
        EXPECT_NE(error.advice(), "");
      }
      EXPECT_EQ(bench.traces.size(), 2U) << "both were tried";
    }
  }
}

TEST(RunLoss, OfAllJobsAtTheirStartIsTheMachinesFault) {
  RunBench bench({FakeScript{}, FakeScript{}});
  bench.before_start = [](int, int) { throw MachineError("no mpirun", "install it"); };
  EXPECT_THROW(bench.execute(), MachineError);
}

TEST(RunLoss, OfOneJobAtHelloLeavesTheOther) {
  for (const Schedule schedule : kValues<Schedule>) {
    for (const std::size_t lost : {0U, 1U}) {
      std::vector<FakeScript> scripts(2);
      scripts[lost] = failing({.command = "hello"});
      RunBench bench(scripts);
      bench.plan.schedule = schedule;
      bench.plan.launches = 2;
      bench.execute();
      EXPECT_EQ(bench.record.status, RunStatus::job_lost);
      EXPECT_EQ(judge(bench.record), ExitCode::incomplete);
      EXPECT_EQ(bench.started.size(), 4U) << "not started again";
      for (const CaseResult& result : bench.record.cases) {
        EXPECT_EQ(result.variants[lost].skipped, Skip{SkipReason::job_lost});
        EXPECT_NEAR(result.variants[1 - lost].time.value().value, 1e-4, 1e-15);
      }
      Record journal = read_record(bench.journal_path());
      summarise(journal);
      EXPECT_TRUE(same_but_for_order(journal.cases, bench.record.cases));
      ASSERT_EQ(journal.warnings.size(), schedule == Schedule::sequential ? 2U : 1U)
          << "once where all launches start together";
      EXPECT_THAT(journal.warnings[0].text, HasSubstr("variant v" + std::to_string(lost)));
    }
  }
}

/// Lets a start that fails by chance cost its launch alone, and what never starts three.
TEST(RunLoss, OfThreeLaunchesOneAfterTheOtherEndsAVariant) {
  const std::set<int> fails{0, 2, 3, 5, 6, 7};
  RunBench bench({FakeScript{}, FakeScript{}});
  bench.plan.launches = 10;
  bench.plan.adds_launches = false;
  bench.plan.launches_at_once = 1;
  bench.before_start = [&](int variant, int launch) {
    if (variant == 1 && fails.contains(launch)) throw JobLost("cannot start", "try later");
  };
  bench.execute();
  EXPECT_EQ(std::ranges::count(bench.started, "v0 in 9"), 1);
  EXPECT_EQ(std::ranges::count(bench.started, "v1 in 7"), 1);
  EXPECT_EQ(std::ranges::count(bench.started, "v1 in 8"), 0);
  const CaseResult& first = bench.record.cases[0];
  EXPECT_EQ(launch_medians(first, 0).size(), 10U);
  EXPECT_EQ(launch_medians(first, 1).size(), 2U) << "launches 1 and 4";
  EXPECT_EQ(bench.record.warnings.size(), fails.size());
}

TEST(RunLoss, OfOneJobAtItsStartLeavesTheOther) {
  RunBench bench({FakeScript{}, FakeScript{}});
  bench.before_start = [](int variant, int) {
    if (variant == 1) throw JobLost("cannot start", "try later");
  };
  bench.execute();
  EXPECT_EQ(bench.record.status, RunStatus::job_lost);
  expect_variant_0_complete(bench.record);
}

TEST(RunLoss, InACaseLeavesTheOtherAndTheNextLaunch) {
  RunBench bench({FakeScript{}, failing({.command = "run", .case_name = kFirst, .occurrence = 3})});
  bench.path_of = [](int, int launch) { return launch == 0 ? Path::network : Path::unknown; };
  bench.plan.launches = 2;
  bench.script_of_launch[{1, 1}] = FakeScript{};
  bench.execute();
  EXPECT_EQ(bench.record.status, RunStatus::job_lost);
  expect_variant_0_complete(bench.record);
  const CaseResult& first = bench.record.cases[0];
  EXPECT_EQ(first.stopped, StopReason::job_lost);
  EXPECT_EQ(first.variants[1].time, Seconds{1e-4});
  EXPECT_EQ(first.variants[1].path, Path::network) << "no later launch can tell";
  EXPECT_EQ(first.ratios.at(0).ratio.replicates, 1);
  EXPECT_FALSE(bench.record.cases[1].variants[1].skipped) << "the second launch has it";
  EXPECT_EQ(count_samples(bench.record), 2 * 8 + 2 + 3 * 4) << "and the job started again";
  Record journal = read_record(bench.journal_path());
  summarise(journal);
  EXPECT_TRUE(same_but_for_order(journal.cases, bench.record.cases));
  EXPECT_TRUE(same(journal.warnings, bench.record.warnings));
}

/// Limits a hang of every launch to two deadlines.
TEST(RunLoss, TwiceInACaseLeavesTheCaseToTheOtherVariant) {
  RunBench bench(
      {FakeScript{}, failing({.command = "run", .kind = Kind::hang, .case_name = kFirst})});
  bench.plan.launches = 6;
  bench.plan.timeout = Seconds{30.0};
  bench.execute();
  EXPECT_LT(bench.clock.now().value, 2 * 30.0 + 10.0);
  EXPECT_EQ(bench.started.size(), 2 * 6 + 2U) << "for the second case";
  const CaseResult& first = bench.record.cases[0];
  EXPECT_EQ(first.variants[1].skipped, Skip{SkipReason::job_lost});
  const CaseResult& second = bench.record.cases[1];
  EXPECT_EQ(second.ratios.at(0).ratio.replicates, 6);
  EXPECT_EQ(count_samples(bench.record), 6 * 4 + 6 * 4 + 6 * 4);
}

/// Dies in every case: what lives so briefly is not started for ever.
TEST(RunLoss, InEveryCaseEndsAfterThreeRestarts) {
  RunBench bench({FakeScript{}, failing({.command = "run", .occurrence = 2})});
  bench.set_cases({1024, 2048, 4096, 8192, 16384, 32768});
  bench.execute();
  EXPECT_EQ(bench.started.size(), 2 + 3U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(bench.record.cases[i].variants[1].time.has_value(), i < 4) << i;
    EXPECT_TRUE(bench.record.cases[i].variants[0].verification) << i;
  }
}

TEST(RunLoss, OfAJobThatDoesNotStartAgainIsSaidOnce) {
  RunBench bench({FakeScript{}, failing({.command = "run", .case_name = kFirst})});
  bench.set_cases({1024, 2048, 4096});
  int starts = 0;
  bench.before_start = [&](int variant, int) {
    if (variant == 1 && ++starts > 1) throw JobLost("cannot start", "try later");
  };
  bench.execute();
  EXPECT_EQ(starts, 2);
  ASSERT_EQ(bench.record.warnings.size(), 2U);
  EXPECT_THAT(bench.record.warnings[1].text, HasSubstr("cannot start"));
  EXPECT_EQ(bench.record.cases[2].variants[1].skipped, Skip{SkipReason::job_lost});
}

TEST(RunLoss, SaysWhatTheGpusSay) {
  FakeScript script = failing({.command = "run", .case_name = kFirst});
  RunBench bench({FakeScript{}, script});
  bench.faults = {{"GPU 1: Xid 79, the GPU fell off the bus", "check the slot"}};
  bench.execute();
  ASSERT_FALSE(bench.record.warnings.empty());
  EXPECT_THAT(bench.record.warnings[0].text, HasSubstr("\nGPU 1: Xid 79"));
  EXPECT_THAT(bench.record.warnings[0].advice, ::testing::StartsWith("check the slot"));
}

TEST(RunLoss, InALaterLaunchKeepsTheEarlierOnes) {
  RunBench bench({FakeScript{}, FakeScript{}});
  bench.plan.launches = 3;
  bench.script_of_launch[{1, 1}] = failing({.command = "hello"});
  bench.execute();
  EXPECT_EQ(bench.record.status, RunStatus::job_lost);
  EXPECT_EQ(bench.record.cases[1].ratios.at(0).ratio.replicates, 2);
  EXPECT_FALSE(bench.record.cases[1].variants[1].skipped);
}

TEST(RunLoss, OfAllJobsMidwayEndsTheRunWithReasons) {
  const FakeScript script = failing({.command = "run", .case_name = kFirst, .occurrence = 3});
  RunBench bench({script, script});
  bench.plan.launches = 2;
  bench.execute();
  EXPECT_EQ(bench.record.status, RunStatus::job_lost);
  EXPECT_EQ(bench.record.cases[0].ratios.at(0).ratio.replicates, 0) << "two samples are too few";
  EXPECT_EQ(bench.started.size(), 2 * 2 + 3U) << "three times in all";
  EXPECT_FALSE(bench.record.cases[1].variants[0].skipped) << "a job started again measured it";
  EXPECT_EQ(bench.record.cases[1].ratios.at(0).ratio.replicates, 1);
  Record journal = read_record(bench.journal_path());
  summarise(journal);
  EXPECT_TRUE(same_but_for_order(journal.cases, bench.record.cases));
}

TEST(RunLoss, AtShutdownIsNoLossOfData) {
  RunBench bench({FakeScript{}, failing({.command = "shutdown"})});
  bench.execute();
  EXPECT_EQ(bench.record.status, RunStatus::complete);
  ASSERT_EQ(bench.record.warnings.size(), 1U);
  EXPECT_EQ(bench.record.warnings[0].code, "job-ended-badly");
  EXPECT_EQ(judge(bench.record), ExitCode::success);
}

TEST(RunLoss, AtItsEndIsBoundedByAShortTimeout) {
  for (const double timeout : {1.0, 60.0}) {
    RunBench bench({FakeScript{}, failing({.command = "shutdown", .kind = Kind::hang})});
    bench.plan.timeout = Seconds{timeout};
    bench.plan.launches = 1;
    bench.execute();
    EXPECT_NEAR(bench.record.time_spent.value().ending_s, timeout == 1.0 ? 1.0 : 10.0, 1e-9);
  }
}

}  // namespace
}  // namespace linkgain::test
