#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/run/run.hpp"
#include "run_support.hpp"
#include "support/golden.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// Counts jobs that were started and are not gone.
int alive(const RunBench& bench) {
  return static_cast<int>(
      std::ranges::count_if(bench.traces, [](const FakeTrace& trace) { return !trace.gone; }));
}

std::vector<std::string> sorted(std::vector<std::string> all) {
  std::ranges::sort(all);
  return all;
}

/// Returns the launches that each case was sampled in.
std::vector<std::set<int>> launches_of(const Record& record) {
  std::vector<std::set<int>> all;
  for (const CaseResult& result : record.cases) {
    std::set<int>& launches = all.emplace_back();
    for (const Sample& sample : result.samples) launches.insert(sample.launch);
  }
  return all;
}

std::vector<std::string> codes(const Record& record) {
  std::vector<std::string> found;
  for (const Warning& warning : record.warnings) found.push_back(warning.code);
  return found;
}

TEST(RunLaunches, AllStartBeforeAnyIsSpokenTo) {
  RunBench bench({taking(1e-4), taking(3e-4)});
  bench.plan.launches = 3;
  bench.before_start = [&](int, int) {
    for (const FakeTrace& trace : bench.traces) EXPECT_THAT(trace.commands, IsEmpty());
  };
  bench.execute();
  EXPECT_THAT(sorted(bench.started),
              ElementsAre("v0 in 0", "v0 in 1", "v0 in 2", "v1 in 0", "v1 in 1", "v1 in 2"));
  EXPECT_EQ(alive(bench), 0);
}

TEST(RunLaunches, StartInAnOrderThatTheSeedDecides) {
  const auto order = [](unsigned seed) {
    RunBench bench({taking(1e-4), taking(3e-4)});
    bench.set_cases({1024});
    bench.plan.launches = 3;
    bench.plan.seed = seed;
    bench.execute();
    return bench.started;
  };
  EXPECT_EQ(order(1), order(1));
  std::set<std::string> first;
  for (unsigned seed = 0; seed < 40; ++seed) first.insert(order(seed).front());
  EXPECT_THAT(first, SizeIs(6)) << "each may be the first";
}

TEST(RunLaunches, MeasureAllCasesBeforeTheNextOneDoes) {
  RunBench bench({taking(1e-4), taking(3e-4)});
  bench.plan.launches = 2;
  bench.execute();
  std::vector<std::pair<int, std::size_t>> order;  // launch and case by sequence
  order.resize(static_cast<std::size_t>(count_samples(bench.record)));
  for (std::size_t i = 0; i < 2; ++i) {
    for (const Sample& sample : bench.record.cases[i].samples) {
      order[static_cast<std::size_t>(sample.sequence)] = {sample.launch, i};
    }
  }
  EXPECT_TRUE(std::ranges::is_sorted(order));
  for (const CaseResult& result : bench.record.cases)
    EXPECT_THAT(result.samples, SizeIs(2 * 2 * 4));
}

TEST(RunLaunches, ComeInGroupsWhereNotAllFit) {
  RunBench bench({taking(1e-4), taking(2e-4)});
  bench.plan.launches = 5;
  bench.plan.launches_at_once = 2;
  int most = 0;
  bench.before_start = [&](int, int) { most = std::max(most, alive(bench) + 1); };
  bench.execute();
  EXPECT_EQ(most, 4);
  ASSERT_THAT(bench.started, SizeIs(10));
  const auto group = [&](int from, int to) {
    return sorted({bench.started.begin() + from, bench.started.begin() + to});
  };
  EXPECT_THAT(group(0, 4), ElementsAre("v0 in 0", "v0 in 1", "v1 in 0", "v1 in 1"));
  EXPECT_THAT(group(4, 8), ElementsAre("v0 in 2", "v0 in 3", "v1 in 2", "v1 in 3"));
  EXPECT_THAT(group(8, 10), ElementsAre("v0 in 4", "v1 in 4"));
  EXPECT_THAT(launches_of(bench.record), Each(SizeIs(5)));
}

/// Finds six orders of two launches of two variants, not only the four in which these take turns.
TEST(RunLaunches, SequentialVariantsAreNeverUpTogetherAndInRandomOrder) {
  std::set<std::vector<std::string>> orders;
  for (unsigned seed = 0; seed < 40; ++seed) {
    RunBench bench({taking(1e-4), taking(2e-4)});
    bench.set_cases({1024});
    bench.plan.schedule = Schedule::sequential;
    bench.plan.launches = 2;
    bench.plan.seed = seed;
    bench.before_start = [&](int, int) { EXPECT_EQ(alive(bench), 0); };
    bench.path_of = [](int variant, int) { return variant == 0 ? Path::nvlink : Path::network; };
    bench.execute();
    orders.insert(bench.started);
    EXPECT_THAT(sorted(bench.started), ElementsAre("v0 in 0", "v0 in 1", "v1 in 0", "v1 in 1"));
    for (const CaseResult& result : bench.record.cases) {
      EXPECT_NEAR(result.ratios.at(0).ratio.value, 2.0, 1e-9);
      EXPECT_EQ(result.variants[0].path, Path::nvlink);
    }
    Record journal = read_record(bench.journal_path());
    summarise(journal);
    EXPECT_TRUE(same_but_for_order(journal.cases, bench.record.cases));
  }
  EXPECT_THAT(orders, SizeIs(6));
}

TEST(RunLaunches, ThatDifferHaveNotConvergedHoweverNarrowEachIs) {
  for (const double third : {2.001e-4, 2.2e-4}) {
    RunBench bench({taking(1e-4), taking(2e-4)});
    bench.set_cases({1024});
    bench.plan.launches = 3;
    bench.script_of_launch[{0, 2}] = taking(1.001e-4);
    bench.script_of_launch[{1, 2}] = taking(third);
    bench.execute();
    const CaseResult& result = bench.record.cases.at(0);
    EXPECT_EQ(result.converged, third < 2.1e-4);
    EXPECT_EQ(result.stopped, third < 2.1e-4 ? StopReason::converged : StopReason::launches_differ);
  }
}

TEST(RunLaunches, LosingOneJobLeavesTheOthersOfItsVariant) {
  RunBench bench({taking(1e-4), taking(2e-4)});
  bench.plan.launches = 3;
  FakeScript failing = taking(2e-4);
  failing.failures = {{.command = "run", .occurrence = 2}};
  bench.script_of_launch[{1, 1}] = failing;
  bench.execute();
  EXPECT_EQ(bench.record.status, RunStatus::job_lost);
  EXPECT_THAT(codes(bench.record), ElementsAre("job-lost", "job-lost")) << "once in each case";
  for (const CaseResult& result : bench.record.cases) {
    std::set<int> of_other;
    for (const Sample& sample : result.samples) {
      if (sample.variant == 1) of_other.insert(sample.launch);
    }
    EXPECT_THAT(of_other, testing::IsSupersetOf({0, 2}));
    EXPECT_FALSE(result.variants[1].skipped);
    EXPECT_NEAR(result.ratios.at(0).ratio.value, 2.0, 1e-9);
  }
}

TEST(RunLaunches, OneJobThatDoesNotStartLeavesTheOthersOfItsVariant) {
  RunBench bench({taking(1e-4), taking(2e-4)});
  bench.plan.launches = 3;
  FakeScript failing = taking(2e-4);
  failing.failures = {{.command = "hello"}};
  bench.script_of_launch[{1, 0}] = failing;
  bench.execute();
  EXPECT_EQ(bench.record.status, RunStatus::job_lost);
  ASSERT_THAT(bench.record.warnings, SizeIs(1));
  EXPECT_THAT(bench.record.warnings[0].text,
              AllOf(StartsWith("variant v1, launch 1: "), HasSubstr("fake was lost")));
  for (const CaseResult& result : bench.record.cases) {
    EXPECT_FALSE(result.variants[1].skipped);
    EXPECT_EQ(result.ratios.at(0).ratio.replicates, 2);
  }
}

TEST(RunLaunches, AllHaveTheDeadlineTogether) {
  FakeScript silent = taking(1e-4);
  silent.failures = {{.command = "hello", .kind = FakeFailure::Kind::hang}};
  RunBench bench({taking(1e-4), silent});
  bench.plan.launches = 6;
  bench.plan.timeout = Seconds{60.0};
  bench.execute();
  EXPECT_LT(bench.clock.now().value, 70.0) << "not six times the deadline";
  EXPECT_EQ(bench.record.cases[0].variants[1].skipped, Skip{SkipReason::job_lost});
}

FakeScript opening_in(double seconds) {
  FakeScript script = taking(1e-4);
  script.open_time = Seconds{seconds};
  return script;
}

TEST(RunLaunches, TheRecordSaysWhatTheTimeWentInto) {
  FakeScript script = opening_in(1.0);
  script.hello.ranks_time = Seconds{0.25};
  script.hello.connecting_time = Seconds{0.5};
  FakeScript slow = script;
  slow.hello.connecting_time = Seconds{0.75};
  RunBench bench({script, script});
  bench.script_of_launch[{1, 0}] = slow;
  bench.before_start = [&](int, int) { bench.clock.advance(Seconds{0.125}); };
  bench.plan.launches = 2;
  bench.execute();
  const TimeSpent spent = bench.record.time_spent.value();
  EXPECT_NEAR(spent.starting_s, 4 * 0.125, 1e-9) << "two jobs of each of two variants";
  EXPECT_EQ(spent.ranks_s, 0.25);
  EXPECT_EQ(spent.connecting_s, 0.75) << "the slowest job's";
  EXPECT_NEAR(spent.opening_s, 2 * 2 * 2 * 1.0, 1e-9) << "cases, launches, variants";
  double sampling = 0.0;
  for (const CaseResult& result : bench.record.cases) {
    for (const Sample& sample : result.samples) {
      sampling += sample.time().value * static_cast<double>(sample.operations);
    }
  }
  EXPECT_NEAR(spent.sampling_s, sampling, 1e-9);
}

/// Spares a GPU that another job has just left, which needs no work to be at its clock.
TEST(RunLaunches, JobsAreToldSinceWhenTheGpusRest) {
  RunBench bench({opening_in(1.0), opening_in(1.0)});
  bench.set_cases({1024});
  bench.plan.launches = 2;
  bench.execute();
  std::vector<std::optional<Seconds>> rests;
  for (const FakeTrace& trace : bench.traces) {
    rests.insert(rests.end(), trace.rests.begin(), trace.rests.end());
  }
  ASSERT_THAT(rests, SizeIs(4));
  EXPECT_EQ(std::count(rests.begin(), rests.end(), std::nullopt), 1) << "the first one of all";
  for (const std::optional<Seconds>& rest : rests) EXPECT_LT(rest.value_or(Seconds{}).value, 0.1);
}

TEST(RunLaunches, LaterOnesMeasureAsManyOperationsAsTheFirst) {
  RunBench bench({opening_in(1.0), opening_in(1.0)});
  bench.set_cases({1024});
  bench.plan.launches = 3;
  bench.execute();
  std::vector<std::optional<std::int64_t>> told;
  for (const FakeTrace& trace : bench.traces) {
    for (const auto& [name, operations] : trace.operations) {
      told.insert(told.end(), operations.begin(), operations.end());
    }
  }
  ASSERT_THAT(told, SizeIs(6));
  EXPECT_EQ(std::count(told.begin(), told.end(), std::nullopt), 2) << "of each variant's first";
  const std::int64_t first = bench.record.cases[0].samples[0].operations;
  EXPECT_EQ(std::ranges::count(told, first), 4);
}

TEST(RunLaunches, ABudgetTooShortLowersThemAndSaysSo) {
  RunBench bench({opening_in(1.0), opening_in(1.0)});
  bench.plan.launches = 6;
  bench.plan.budget = Seconds{18.0};
  bench.execute();
  EXPECT_THAT(launches_of(bench.record), Each(SizeIs(4)));
  ASSERT_THAT(codes(bench.record), ElementsAre("fewer-launches"));
  expect_golden(bench.record.warnings[0].text + "\n", "fewer_launches.txt");
  EXPECT_EQ(alive(bench), 0);
}

TEST(RunLaunches, ABudgetForLessThanThreeLeavesCasesOutSoThatTheOthersHaveThree) {
  RunBench bench({opening_in(1.0), opening_in(1.0)});
  bench.set_cases({1024, 65536, 131072, 262144});
  bench.plan.launches = 6;
  bench.plan.budget = Seconds{14.0};
  bench.execute();
  EXPECT_THAT(launches_of(bench.record),
              ElementsAre(std::set<int>{0, 1, 2}, IsEmpty(), IsEmpty(), std::set<int>{0, 1, 2}));
  for (const VariantResult& variant : bench.record.cases[2].variants) {
    EXPECT_EQ(variant.skipped, Skip{SkipReason::out_of_time});
  }
  EXPECT_EQ(bench.record.cases[2].stopped, StopReason::out_of_time);
  EXPECT_EQ(bench.record.cases[3].ratios.at(0).ratio.replicates, 3);
  EXPECT_LT(bench.clock.now().value, 14.0);
}

/// Makes the second case's launches differ by so much that twice as many bring it to its width.
RunBench& differing(RunBench& bench, double by) {
  bench.plan.launches = 4;
  bench.plan.ci_width = 0.02;
  const std::string second = case_name(bench.plan.cases[1]);
  for (int launch = 0; launch < 8; ++launch) {
    FakeScript script = taking(1e-4);
    script.seconds_of_case[second] = 1e-4 * (launch % 2 == 0 ? 1.0 : 1.0 + by);
    bench.script_of_launch[{1, launch}] = script;
    bench.script_of_launch[{0, launch}] = taking(launch % 2 == 0 ? 1e-4 : 1.001e-4);
  }
  return bench;
}

TEST(RunLaunches, AreAddedForTheCasesThatComeToTheirWidthSo) {
  RunBench bench({taking(1e-4), taking(1e-4)});
  differing(bench, 0.03).execute();
  const std::vector<std::set<int>> launches = launches_of(bench.record);
  EXPECT_EQ(launches[0], (std::set<int>{0, 1, 2, 3}));
  ASSERT_GT(launches[1].size(), 4U);
  EXPECT_LE(launches[1].size(), 8U);
  EXPECT_TRUE(bench.record.cases[1].converged);
  // Those that it is expected to need are up together.
  ASSERT_THAT(bench.started, SizeIs(16));
  const std::vector<std::string> added(bench.started.begin() + 8, bench.started.end());
  EXPECT_THAT(sorted(added), ElementsAre("v0 in 4", "v0 in 5", "v0 in 6", "v0 in 7", "v1 in 4",
                                         "v1 in 5", "v1 in 6", "v1 in 7"));
  EXPECT_THAT(codes(bench.record), IsEmpty());
}

TEST(RunLaunches, AreNotAddedForACaseThatLostAJobAndIsNarrow) {
  RunBench bench({taking(1e-4), taking(1e-4)});
  differing(bench, 0.001);
  bench.script_of_launch[{1, 2}].failures = {
      {.command = "run", .case_name = case_name(bench.plan.cases[1])}};
  bench.execute();
  EXPECT_EQ(bench.record.cases[1].stopped, StopReason::job_lost);
  EXPECT_THAT(launches_of(bench.record), Each(SizeIs(4)));
}

TEST(RunLaunches, BetweenWhichTheBudgetEndsAreLeftOut) {
  RunBench bench({opening_in(1.0), opening_in(1.0)});
  bench.set_cases({1024});
  bench.plan.launches = 3;
  bench.plan.launches_at_once = 1;
  bench.plan.budget = Seconds{4.0};  // a launch takes two seconds, and three are the fewest
  bench.execute();
  EXPECT_EQ(bench.record.cases[0].stopped, StopReason::out_of_time) << "not that launches differ";
  EXPECT_LT(launches_of(bench.record)[0].size(), 3U);
}

TEST(RunLaunches, AreNotAddedWhereThatWouldNotDoOrNoBudgetIsLeft) {
  RunBench far({taking(1e-4), taking(1e-4)});
  differing(far, 0.3).execute();
  EXPECT_THAT(launches_of(far.record), Each(SizeIs(4)));
  RunBench short_of_time({taking(1e-4), taking(1e-4)});
  differing(short_of_time, 0.03);
  // Four launches of two cases in two variants, and no more.
  const double four = 4 * 2 * 2 * kRoundsPerLaunch * kDefaultSampleTarget.value;
  short_of_time.plan.budget = Seconds{1.03 * four};
  short_of_time.execute();
  EXPECT_THAT(launches_of(short_of_time.record), Each(SizeIs(4)));
}

}  // namespace
}  // namespace linkgain::test
