// How often compare's 95 % interval holds the true ratio, in seeded simulations: with launches
// whose cases differ by themselves, and with launches in which all cases are slow together, as by a
// worse placement of the ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "linkgain/compare/run_comparison.hpp"
#include "support/simulated_launches.hpp"
#include "support/simulated_runs.hpp"

namespace linkgain::test {
namespace {

constexpr double kTrueRatio = 1.1;

/// Takes the first operation's cases: others tell little more where all are slow together.
RunFigures run_of_launches(const std::vector<CaseLaunches>& all) {
  RunFigures run;
  run.settings.backend = BackendKind::nccl;
  for (const CaseLaunches& each : all) {
    if (each.definition.operation != all.front().definition.operation) continue;
    CaseFigures figures;
    figures.name = case_name(each.definition);
    figures.definition = each.definition;
    figures.variant = each.variant;
    figures.launches = each.launches;
    figures.time = geometric_mean(each.launches);
    run.cases.push_back(figures);
  }
  return run;
}

/// Returns the share of intervals, over all cases of all pairs of runs, that hold the true ratio.
double coverage(const Noise& noise, int before, int after, int pairs) {
  SimulatedMachine machine(noise, 20261123);
  int held = 0;
  int all = 0;
  for (int i = 0; i < pairs; ++i) {
    const RunFigures slow = run_of_launches(machine.measure(before, -1, std::log(kTrueRatio)));
    const RunFigures fast = run_of_launches(machine.measure(after));
    for (const CaseComparison& each : compare_runs(slow, fast, {}).cases) {
      ++all;
      if (each.speed_up->interval->holds(kTrueRatio)) ++held;
    }
  }
  return static_cast<double>(held) / all;
}

class CompareCoverageOfRuns : public ::testing::TestWithParam<Behaviour> {};

/// Compares two whole unchanged runs: every speed-up is 1. The same runs hold run and check to
/// these figures.
TEST_P(CompareCoverageOfRuns, IsNear95Percent) {
  constexpr unsigned kPairs = 80;
  std::map<std::string, Count> counts;
  for (unsigned seed = 1; seed <= kPairs; ++seed) {
    const RunFigures before = figures_of(SimulatedRun(GetParam(), 2 * seed).measure(), "before");
    const RunFigures after = figures_of(SimulatedRun(GetParam(), 2 * seed + 1).measure(), "after");
    for (const CaseComparison& each : compare_runs(before, after, {}).cases) {
      if (!each.speed_up) continue;  // a training without communication, in one variant
      counts[class_of(each.definition) + ", " + each.variant].add(
          each.speed_up->interval->holds(1.0));
    }
  }
  expect_near_95_percent(counts);
}

INSTANTIATE_TEST_SUITE_P(Machines, CompareCoverageOfRuns,
                         ::testing::ValuesIn(simulated_machines()));

/// Makes `share` of the deviation, large beside a median's own, common to a launch's cases.
Noise shared(double share) {
  Noise noise;
  noise.between = 0.05;
  noise.shared = share;
  return noise;
}

/// Welch's degrees of freedom are rounded down, which makes intervals of few launches wider than
/// they need be.
constexpr double kOfFewLaunches = 0.99;

TEST(CompareCoverage, IsNear95PercentWhereCasesAreIndependent) {
  EXPECT_NEAR(coverage(shared(0.0), 8, 8, 200), 0.95, 0.01);
  EXPECT_NEAR(coverage(shared(0.0), 3, 3, 200), 0.955, 0.015);
  const double two = coverage(shared(0.0), 2, 2, 200);
  EXPECT_GE(two, 0.94);
  EXPECT_LE(two, kOfFewLaunches);
}

/// Needs more pairs of runs, each of which is little more than one observation: three standard
/// errors of 400 are 3.3 %.
TEST(CompareCoverage, IsNear95PercentWhereALaunchIsSlowForAllCases) {
  EXPECT_NEAR(coverage(shared(1.0), 8, 8, 400), 0.95, 0.03);
  for (const int launches : {2, 3}) {
    const double few = coverage(shared(1.0), launches, launches, 400);
    EXPECT_GE(few, 0.94) << launches;
    EXPECT_LE(few, kOfFewLaunches) << launches;
  }
}

TEST(CompareCoverage, IsNear95PercentInBetween) {
  EXPECT_NEAR(coverage(shared(0.5), 8, 8, 200), 0.95, 0.03);
  EXPECT_NEAR(coverage(shared(0.5), 3, 3, 200), 0.95, 0.03);
}

}  // namespace
}  // namespace linkgain::test
