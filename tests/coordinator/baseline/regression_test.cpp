#include "linkgain/baseline/regression.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "linkgain/summary/judgement_text.hpp"
#include "support/golden.hpp"
#include "support/launch_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

/// Makes eight launches about `time` whose logs have a standard deviation of `deviation`.
std::vector<double> eight(double time, double deviation = 0.005) {
  std::vector<double> times;
  for (int i = 0; i < 8; ++i) {
    times.push_back(time * std::exp(deviation * std::sqrt(7.0 / 8.0) * (i % 2 == 0 ? 1.0 : -1.0)));
  }
  return times;
}

Baseline reference(double deviation = 0.005) {
  return baseline_of(std::vector{launches_of(sized(8), eight(1e-3, deviation))}, {});
}

CaseCheck check_one(const Baseline& baseline, const CaseLaunches& launches) {
  return check_launches(std::vector{launches}, baseline).cases.front();
}

TEST(Check, HoldsTheShiftOfLaunchesAgainstTheTolerance) {
  const CaseCheck check = check_one(reference(), launches_of(sized(8), eight(1.01e-3)));
  EXPECT_EQ(check.verdict, Verdict::same);
  EXPECT_NEAR(*check.shift, std::log(1.01), 1e-12);
  // s = 0.005 on both sides; 14 degrees of freedom; t = 2.145; standard error s / 2.
  EXPECT_NEAR(check.interval->high - *check.shift, 2.1448 * 0.0025, 1e-6);
  EXPECT_NEAR(*check.shift - check.interval->low, 2.1448 * 0.0025, 1e-6);
  EXPECT_EQ(check.launches, 8);
  EXPECT_EQ(check.reference_launches, 8);
}

TEST(Check, FindsSlowerAndSuspiciouslyFast) {
  const CaseCheck slower = check_one(reference(), launches_of(sized(8), eight(1.08e-3)));
  EXPECT_EQ(slower.verdict, Verdict::slower);
  EXPECT_LT(*slower.chance_slower, 0.001);
  const CaseCheck faster = check_one(reference(), launches_of(sized(8), eight(0.9e-3)));
  EXPECT_EQ(faster.verdict, Verdict::faster);
  EXPECT_FALSE(fails(faster.verdict));
  EXPECT_EQ(faster.settling, std::nullopt);
}

TEST(Check, JudgesEveryCase) {
  const auto run = [](double second, double third) {
    return std::vector{launches_of(sized(8), eight(1e-3)), launches_of(sized(64), eight(second)),
                       launches_of(sized(512), eight(third))};
  };
  const CheckResult result = check_launches(run(0.9e-3, 1.08e-3), baseline_of(run(1e-3, 1e-3), {}));
  ASSERT_THAT(result.cases, SizeIs(3));
  EXPECT_EQ(result.cases[0].verdict, Verdict::same);
  EXPECT_EQ(result.cases[1].verdict, Verdict::faster);
  EXPECT_EQ(result.cases[2].verdict, Verdict::slower);
}

/// Distrusts one launch on either side: one of another placement takes another time.
TEST(Check, DecidesNothingByOneLaunch) {
  const Baseline one = baseline_of(std::vector{launches_of(sized(8), {1e-3})}, {});
  for (const double time : {1e-3, 2e-3, 0.5e-3}) {
    for (const auto& [baseline, launches] : {std::pair{reference(), launches_of(sized(8), {time})},
                                             std::pair{one, launches_of(sized(8), eight(time))},
                                             std::pair{one, launches_of(sized(8), {time})}}) {
      const CheckResult result = check_launches(std::vector{launches}, baseline);
      const CaseCheck& check = result.cases.front();
      EXPECT_EQ(check.verdict, Verdict::inconclusive) << time;
      EXPECT_FALSE(check.interval) << "one launch has none";
      EXPECT_NEAR(*check.shift, std::log(time / 1e-3), 1e-12);
      EXPECT_EQ(check.settling, std::nullopt);
      EXPECT_EQ(exit_code_of(result), ExitCode::inconclusive);
    }
  }
}

/// Needs no second launch for what is plain.
TEST(Check, FailsForFactsOfOneLaunch) {
  CaseLaunches launches = launches_of(sized(8), {1e-3});
  launches.paths = {Path::host_memory};
  EXPECT_EQ(check_one(reference(), launches).verdict, Verdict::other_path);
  launches.wrong_data = "1 of 4 elements are wrong";
  EXPECT_EQ(check_one(reference(), launches).verdict, Verdict::wrong_data);
}

/// Makes runs whose means lie at these shares above 1 ms.
CaseLaunches runs_at(const std::vector<double>& shares, int launches = 2) {
  CaseLaunches all = launches_of(sized(8), {});
  for (std::size_t run = 0; run < shares.size(); ++run) {
    for (int i = 0; i < launches; ++i) {
      const double apart = std::exp(0.001 * (i % 2 == 0 ? 1.0 : -1.0));
      all.launches.push_back(
          {static_cast<int>(all.launches.size()), Seconds{1e-3 * std::exp(shares[run]) * apart}});
      all.runs.push_back(static_cast<int>(run));
    }
  }
  return all;
}

TEST(Check, TakesItsErrorFromTheBaselinesRuns) {
  const Baseline three = baseline_of(std::vector{runs_at({-0.01, 0.0, 0.01})}, {});
  const CaseCheck check = check_one(three, runs_at({0.02}));
  EXPECT_EQ(check.replicate, Replicate::run);
  EXPECT_NEAR(*check.shift, 0.02, 1e-12);
  // s = 0.01, 2 degrees of freedom, t = 4.3027; standard error s sqrt(1/3 + 1).
  EXPECT_NEAR(check.interval->high - *check.shift, 4.3027 * 0.01 * std::sqrt(4.0 / 3.0), 1e-6);
  EXPECT_EQ(check.verdict, Verdict::inconclusive);
  EXPECT_GT(check.settling->launches, 1) << "runs";
  EXPECT_EQ(check_one(three, runs_at({0.15})).verdict, Verdict::slower);
  const CaseCheck two_more = check_one(three, runs_at({0.01, 0.03}));
  // s² = (2 s1² + 1 s2²) / 3 with s2² = 0.0002; standard error s sqrt(1/3 + 1/2).
  EXPECT_NEAR(two_more.interval->high - *two_more.shift,
              3.1824 * std::sqrt(4e-4 / 3.0 * (1.0 / 3.0 + 1.0 / 2.0)), 1e-6);
}

/// Adds what fewer launches than the baseline's scatter by; takes more for no steadier.
TEST(Check, AddsWhatFewerLaunchesOfARunScatterBy) {
  const auto width = [](int before, int after) {
    const Baseline baseline = baseline_of(std::vector{runs_at({-0.01, 0.0, 0.01}, before)}, {});
    const CaseCheck check = check_one(baseline, runs_at({0.0}, after));
    return check.interval->high - *check.shift;
  };
  EXPECT_GT(width(8, 2), width(2, 2));
  EXPECT_NEAR(width(8, 2), width(8, 8), 0.01 * width(8, 8)) << "launches differ by 0.1 %";
  EXPECT_DOUBLE_EQ(width(2, 2), width(2, 8));
}

/// Trusts a run beside other work less, however close the baseline's launches lie.
TEST(Check, AddsWhatLaunchesScatterByBeyondTheBaselines) {
  const Baseline baseline = baseline_of(std::vector{runs_at({-0.01, 0.0, 0.01})}, {});
  CaseLaunches unsteady = runs_at({0.0});
  for (std::size_t i = 0; i < unsteady.launches.size(); ++i) {
    unsteady.launches[i].time.value *= std::exp(i % 2 == 0 ? 0.1 : -0.1);
  }
  const CaseCheck check = check_one(baseline, unsteady);
  EXPECT_NEAR(*check.shift, 0.0, 1e-9);
  EXPECT_EQ(check.verdict, Verdict::inconclusive);
  EXPECT_GT(check.interval->high, 2.0 * 0.1 / std::sqrt(8.0));
}

/// Needs three runs to know how far they lie apart.
TEST(Check, ComparesLaunchesWhereTheBaselineHasTwoRuns) {
  const Baseline two = baseline_of(std::vector{runs_at({0.0, 0.001})}, {});
  EXPECT_EQ(check_one(two, runs_at({0.0})).replicate, Replicate::launch);
}

TEST(Check, SaysWhatWouldSettleAnOpenCase) {
  const CaseCheck check = check_one(reference(0.02), launches_of(sized(8), {1.02e-3, 1.04e-3}));
  EXPECT_EQ(check.verdict, Verdict::inconclusive);
  ASSERT_TRUE(check.settling);
  EXPECT_GT(check.settling->launches, 2);
}

/// Makes so many launches about `time` whose logs have a standard deviation of 0.02.
std::vector<double> scattered(int count, double time) {
  const bool even = count % 2 == 0;
  const double apart = even ? 0.02 * std::sqrt((count - 1.0) / count) : 0.02;
  std::vector<double> times;
  if (!even) times.push_back(time);
  for (int i = 0; i < count / 2; ++i) {
    times.push_back(time * std::exp(apart));
    times.push_back(time * std::exp(-apart));
  }
  return times;
}

/// Checks twelve cases beyond the tolerance, each a pool of its own, as another variant of it is:
/// the first one far, with so many launches in the baseline and in the run.
CheckResult check_of_twelve(int reference, int launches, Verdict verdict) {
  const auto factor = [&](double slower) {
    return verdict == Verdict::slower ? slower : 1.0 / slower;
  };
  std::vector<CaseLaunches> before;
  std::vector<CaseLaunches> after;
  for (int i = 0; i < 12; ++i) {
    const std::string variant = "v" + std::to_string(i);
    before.push_back(launches_of(sized(8 << i), scattered(i == 0 ? reference : 3, 1e-3), variant));
    after.push_back(launches_of(
        sized(8 << i),
        i == 0 ? scattered(launches, factor(1.12) * 1e-3) : scattered(3, factor(1.055) * 1e-3),
        variant));
  }
  return check_launches(after, baseline_of(before, {}));
}

/// Asks for as many launches as would settle one case alone where the test over all cases leaves it
/// open, though its interval lies beyond the tolerance.
TEST(Check, AsksForMoreLaunchesThanThereAreWhereOtherCasesLeaveOneOpen) {
  std::string reasons;
  for (const Verdict verdict : {Verdict::slower, Verdict::faster}) {
    SCOPED_TRACE(name_of(verdict));
    const CheckResult result = check_of_twelve(3, 3, verdict);
    const CaseCheck& open = result.cases[0];
    ASSERT_EQ(open.verdict, Verdict::inconclusive);
    const Interval& interval = open.interval.value();
    EXPECT_TRUE(interval.low > log_upper(open.tolerance) ||
                interval.high < log_lower(open.tolerance));
    EXPECT_TRUE(result.cases[1].reasons.empty()) << "its interval tells that it is open";
    reasons += reason_text(open) + "\n";
    ASSERT_TRUE(open.settling);
    EXPECT_TRUE(open.settling->baseline_too) << "it has three launches, and two degrees of freedom";
    const int enough = open.settling->launches;
    EXPECT_GT(enough, 3);
    EXPECT_EQ(check_of_twelve(enough, enough, verdict).cases[0].verdict, verdict);
    EXPECT_EQ(check_of_twelve(enough - 1, enough - 1, verdict).cases[0].verdict,
              Verdict::inconclusive);
  }
  expect_golden(reasons, "left_open.txt");
}

TEST(Check, AsksForNoMoreLaunchesWhereAllAgreeToTheLastDigit) {
  for (const std::size_t launches : {2U, 8U}) {
    const std::vector<double> alike(launches, 1e-3);
    const Baseline baseline = baseline_of(std::vector{launches_of(sized(8), alike)}, {});
    const CaseCheck check = check_one(baseline, launches_of(sized(8), alike));
    EXPECT_EQ(check.verdict, Verdict::inconclusive);
    EXPECT_TRUE(check.has(Reason::Kind::agreeing)) << launches;
    EXPECT_THAT(reason_text(check), Not(HasSubstr("--launches 8")));
  }
}

TEST(Check, FailsForMissingWrongAndElsewhereCases) {
  Baseline baseline = reference();
  CaseLaunches launches = launches_of(sized(16), eight(1e-3));
  const std::vector other_size{launches};
  const CheckResult cut_short = check_launches(other_size, baseline, {}, RunsAre::cut_short);
  EXPECT_EQ(cut_short.cases.front().verdict, Verdict::missing);
  EXPECT_EQ(exit_code_of(cut_short), ExitCode::problem_found);
  const CheckResult complete = check_launches(other_size, baseline);
  EXPECT_EQ(complete.cases.front().verdict, Verdict::inconclusive)
      << "a complete run was not to measure it";
  EXPECT_EQ(exit_code_of(complete), ExitCode::inconclusive);
  launches = launches_of(sized(8), {});
  launches.missing = "skipped: out of memory";
  EXPECT_EQ(reason_text(check_one(baseline, launches)), launches.missing);
  launches = launches_of(sized(8), eight(1e-3));
  launches.paths = {Path::nvlink, Path::host_memory};
  const CaseCheck elsewhere = check_one(baseline, launches);
  EXPECT_EQ(elsewhere.verdict, Verdict::other_path);
  EXPECT_NEAR(*elsewhere.shift, 0.0, 1e-12) << "as fast, and still not the same";
  launches.wrong_data = "1 of 4 elements are wrong";
  EXPECT_EQ(check_one(baseline, launches).verdict, Verdict::wrong_data);
  baseline.cases[0].path = Path::unknown;
  launches.wrong_data.clear();
  EXPECT_EQ(check_one(baseline, launches).verdict, Verdict::same);
}

TEST(Check, ReportsAPathThatIsNotKnownAnyMore) {
  CaseLaunches launches = launches_of(sized(8), eight(1e-3));
  launches.paths.clear();
  launches.path_unknown = true;
  const Baseline baseline = reference();
  const CheckResult result = check_launches(std::vector{launches}, baseline);
  EXPECT_EQ(result.cases[0].verdict, Verdict::unknown_path);
  EXPECT_EQ(exit_code_of(result), ExitCode::inconclusive) << "it is a headline";
  CaseLaunches slow = launches_of(sized(8), eight(2e-3));
  slow.path_unknown = true;
  EXPECT_EQ(check_one(baseline, slow).verdict, Verdict::slower);
  CaseLaunches open = launches_of(sized(8), {1.05e-3});
  open.path_unknown = true;
  EXPECT_EQ(check_one(baseline, open).verdict, Verdict::unknown_path);
  EXPECT_EQ(check_one(baseline, open).settling, std::nullopt) << "no launch settles a path";
  Baseline never_known = baseline;
  never_known.cases[0].path = Path::unknown;
  EXPECT_EQ(check_one(never_known, launches).verdict, Verdict::same);
}

TEST(Check, NeverHoldsAGraphAgainstAStream) {
  Case graph = sized(8);
  graph.launch = LaunchMode::graph;
  const Baseline baseline = reference();
  const std::vector<CaseLaunches> by_graph{launches_of(graph, eight(9e-3))};
  const CheckResult result = check_launches(by_graph, baseline);
  ASSERT_THAT(result.cases, SizeIs(2));
  EXPECT_EQ(result.cases[0].verdict, Verdict::other_launch);
  EXPECT_EQ(result.cases[0].time, std::nullopt) << "nine times as long, by another mode";
  EXPECT_EQ(result.cases[1].verdict, Verdict::added);
  EXPECT_TRUE(result.cases[1].has(Reason::Kind::other_launch));
  EXPECT_EQ(exit_code_of(result), ExitCode::inconclusive) << "it is a headline";
  EXPECT_EQ(check_one(baseline_of(by_graph, {}), launches_of(sized(8), eight(1e-3))).verdict,
            Verdict::other_launch)
      << "nor the other way round";
  const std::vector<CaseLaunches> both{launches_of(graph, eight(9e-3)),
                                       launches_of(sized(8), eight(1e-3))};
  EXPECT_EQ(check_launches(both, baseline).cases[0].verdict, Verdict::same);
}

TEST(Check, ReportsWhatTheBaselineDoesNotKnow) {
  const std::vector<CaseLaunches> all{launches_of(sized(8), eight(1e-3)),
                                      launches_of(sized(16), eight(9e-3)),
                                      launches_of(sized(32), {}), launches_of(sized(64), {1e-3})};
  const CheckResult result = check_launches(all, reference());
  ASSERT_THAT(result.cases, SizeIs(4));
  EXPECT_EQ(result.cases[1].verdict, Verdict::added);
  EXPECT_EQ(result.cases[1].reference, std::nullopt);
  EXPECT_EQ(result.cases[2].verdict, Verdict::added);
  EXPECT_EQ(result.cases[2].time, std::nullopt) << "it was skipped";
  EXPECT_TRUE(result.cases[3].time);
  EXPECT_EQ(exit_code_of(result), ExitCode::success);
}

TEST(Check, FollowsTheCasesToleranceByDefault) {
  Baseline baseline = reference();
  baseline.cases[0].tolerance = {std::nullopt, 0.2};
  const std::vector<CaseLaunches> slower{launches_of(sized(8), eight(1.1e-3))};
  EXPECT_EQ(check_launches(slower, baseline).cases[0].verdict, Verdict::same);
  EXPECT_EQ(check_launches(slower, baseline, Tolerance{-0.05, 0.05}).cases[0].verdict,
            Verdict::slower);
  const std::vector<CaseLaunches> faster{launches_of(sized(8), eight(0.5e-3))};
  EXPECT_EQ(check_launches(faster, baseline).cases[0].verdict, Verdict::same) << "unbounded";
}

TEST(Check, MentionsThrottledGpus) {
  CaseLaunches launches = launches_of(sized(8), eight(1.2e-3));
  for (const auto& [samples, text] : {std::pair{1, "1 sample"}, {3, "3 samples"}}) {
    launches.unhealthy_samples = samples;
    EXPECT_THAT(reason_text(check_one(reference(), launches)), HasSubstr(text));
  }
  launches.unhealthy_samples = 0;
  EXPECT_FALSE(check_one(reference(), launches).has(Reason::Kind::throttled));
}

TEST(Check, KeepsAnUnsteadyCaseFromCryingWolf) {
  std::vector<CaseLaunches> before;
  std::vector<CaseLaunches> after;
  for (int i = 0; i < 10; ++i) {
    before.push_back(launches_of(sized(8 << i), eight(1e-3, 0.003)));
    after.push_back(launches_of(sized(8 << i), {1e-3, 1.001e-3}));
  }
  before[4] = launches_of(sized(128), eight(1e-3, 0.2));
  after[4] = launches_of(sized(128), {1.2e-3, 1.25e-3});
  const CheckResult result = check_launches(after, baseline_of(before, {}));
  EXPECT_EQ(result.cases[4].verdict, Verdict::inconclusive);
  EXPECT_EQ(result.cases[5].verdict, Verdict::same);
}

TEST(Check, SaysWhy) {
  const auto in_order = launches_of(sized(8), eight(1e-3));
  std::string text;
  const auto add = [&](const std::string& situation, const Baseline& baseline,
                       const CaseLaunches& launches) {
    const CaseCheck check = check_one(baseline, launches);
    text += fmt::format("{} -> {}: {}\n", situation, name_of(check.verdict), reason_text(check));
  };
  add("one launch", reference(), launches_of(sized(8), {1.08e-3}));
  const Baseline one = baseline_of(std::vector{launches_of(sized(8), {1e-3})}, {});
  add("two launches against one", one, launches_of(sized(8), {2e-3, 2.01e-3}));
  add("one launch against one", one, launches_of(sized(8), {2e-3}));
  const auto alike = launches_of(sized(8), std::vector<double>(8, 1e-3));
  const Baseline alike_too = baseline_of(std::vector{alike}, {});
  add("launches that are all alike", alike_too, alike);
  Case printed = sized(8);
  printed.metric = ProgramMetric{.name = "loss"};
  const auto runs = [&](double value) {
    return launches_of(printed, std::vector<double>(8, value));
  };
  const Baseline of_program = baseline_of(std::vector{runs(2.5)}, {});
  add("runs of a program that all print the same", of_program, runs(2.5));
  add("runs that all print a tenth more", of_program, runs(2.75));
  add("runs that all print a tenth less", of_program, runs(2.25));
  add("one launch against such", alike_too, launches_of(sized(8), {1e-3}));
  add("not measured", reference(), launches_of(sized(16), eight(1e-3)));
  Case graph = sized(8);
  graph.launch = LaunchMode::graph;
  const auto by_graph = launches_of(graph, eight(1e-3));
  add("by graph instead of by stream", reference(), by_graph);
  add("by stream instead of by graph", baseline_of(std::vector{by_graph}, {}), in_order);
  text += "beside the baseline's -> " +
          reason_text(check_launches(std::vector{in_order, by_graph}, reference()).cases[1]) + "\n";
  const auto with = [&](const auto& change) {
    CaseLaunches launches = in_order;
    change(launches);
    return launches;
  };
  add("skipped", reference(), with([](CaseLaunches& launches) {
        launches.launches.clear();
        launches.missing = "skipped: no memory";
      }));
  const auto elsewhere = with([](CaseLaunches& launches) {
    launches.paths = {Path::nvlink, Path::host_memory};
  });
  add("another path", reference(), elsewhere);
  add("no path known", reference(), with([](CaseLaunches& launches) {
        launches.paths.clear();
        launches.path_unknown = true;
      }));
  add("slow GPUs", reference(), with([](CaseLaunches& launches) {
        launches = launches_of(sized(8), eight(1.2e-3));
        launches.unhealthy_samples = 3;
      }));
  add("others' work", reference(), with([](CaseLaunches& launches) {
        launches = launches_of(sized(8), eight(1.2e-3));
        launches.disturbance = {.samples = 5, .level_change = 1.3};
      }));
  expect_golden(text, "reasons.txt");
}

/// Compares numbers whose last digit's unit is 1.
TEST(Check, ClaimsNothingThatPrintedDigitsMayHaveMade) {
  Case printed = sized(8);
  printed.metric = ProgramMetric{.name = "loss"};
  const auto digits = [&](const std::vector<double>& values) {
    CaseLaunches runs = launches_of(printed, values);
    for (LaunchMedian& each : runs.launches) each.resolution = 1.0 / each.time.value;
    return runs;
  };
  const Baseline baseline = baseline_of(std::vector{digits({3, 3, 3, 3})}, {});
  std::string text;
  const auto add = [&](const std::string& situation, const std::vector<double>& values) {
    const CaseCheck check = check_one(baseline, digits(values));
    text += fmt::format("{} -> {}: {}\n", situation, name_of(check.verdict), reason_text(check));
  };
  add("all 4 instead of 3", {4, 4, 4, 4});
  add("all 3, too", {3, 3, 3, 3});
  add("all 8", {8, 8, 8, 8});
  add("3 or 4", {3, 4, 4, 4});
  add("7 or 8", {7, 8, 8, 8});
  expect_golden(text, "reasons_of_digits.txt");
}

/// Has cases with these verdicts, the first of which is a headline.
CheckResult with_verdicts(const std::vector<Verdict>& verdicts) {
  CheckResult result;
  for (const Verdict verdict : verdicts) {
    CaseCheck check;
    check.verdict = verdict;
    check.headline = result.cases.empty();
    result.cases.push_back(check);
  }
  return result;
}

TEST(CheckExitCode, IsThatOfTheWorst) {
  using enum Verdict;
  EXPECT_EQ(exit_code_of(with_verdicts({same, same, faster, added})), ExitCode::success);
  EXPECT_EQ(exit_code_of(with_verdicts({inconclusive, same, same, same, same, same})),
            ExitCode::inconclusive)
      << "a headline";
  EXPECT_EQ(exit_code_of(with_verdicts({same, inconclusive, same, same, same})), ExitCode::success)
      << "a fifth, not more";
  EXPECT_EQ(exit_code_of(with_verdicts({same, inconclusive, same, same, added, added})),
            ExitCode::inconclusive)
      << "a quarter of those that were compared with the baseline";
  for (const Verdict failure : {missing, wrong_data, other_path, slower}) {
    EXPECT_EQ(exit_code_of(with_verdicts({inconclusive, failure})), ExitCode::problem_found);
  }
  CheckResult in_part = with_verdicts({same});
  in_part.left_out = 1;
  EXPECT_EQ(exit_code_of(in_part), ExitCode::inconclusive) << "a record could not be read";
}

/// Ignores the time, which nobody asked for: it is a tenth longer or open, and the rate the same.
TEST(Check, IsDecidedByNamedMetricsWhereThereAreSome) {
  const auto of_metric = [](std::string_view name, double seconds, double deviation = 0.001) {
    CaseLaunches runs = launches_of(sized(8), eight(seconds, deviation));
    runs.definition = program_case({.name = std::string(name)});
    return runs;
  };
  const auto time = [&](double seconds, double deviation = 0.001) {
    return of_metric(ProgramMetric::kTime, seconds, deviation);
  };
  const auto check = [](const Baseline& baseline, const std::vector<CaseLaunches>& launches) {
    return check_launches(launches, baseline);
  };
  const auto rate = of_metric("rate", 1.0);
  const Baseline named = baseline_of(std::vector{rate, time(1.0)}, {});
  const CheckResult slower = check(named, {rate, time(1.1)});
  EXPECT_EQ(slower.cases[1].verdict, Verdict::slower);
  EXPECT_FALSE(fails(slower.cases[1]));
  EXPECT_EQ(exit_code_of(slower), ExitCode::success);
  EXPECT_EQ(exit_code_of(check(named, {rate, time(1.05, 0.1)})), ExitCode::success);
  EXPECT_EQ(exit_code_of(check(named, {of_metric("rate", 1.1), time(1.0)})),
            ExitCode::problem_found);
  EXPECT_EQ(exit_code_of(check(baseline_of(std::vector{time(1.0)}, {}), {rate, time(1.1)})),
            ExitCode::problem_found)
      << "the baseline knows no other metric";
}

TEST(Check, TakesTheLargestSizeOfEachOperationAndVariantForHeadlines) {
  const std::vector<CaseLaunches> all{
      launches_of(sized(8), eight(1e-3)), launches_of(sized(64), eight(1e-3)),
      launches_of(sized(16), eight(1e-3), "host"),
      launches_of(sized(32, OperationKind::send_recv), eight(1e-3))};
  const CheckResult result = check_launches(all, baseline_of(all, {}));
  EXPECT_FALSE(result.cases[0].headline);
  EXPECT_TRUE(result.cases[1].headline);
  EXPECT_TRUE(result.cases[2].headline);
  EXPECT_TRUE(result.cases[3].headline);
}

}  // namespace
}  // namespace linkgain::test
