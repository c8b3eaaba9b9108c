// How often a check is right, in seeded simulations: noise within launches of 1 %, correlated and
// with spikes on one side, 0.5 % between launches, 100 cases. LINKGAIN_SIMULATION_RUNS=1000 gives
// the figures of results/regression-simulation.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "linkgain/baseline/regression.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "support/simulated_launches.hpp"

namespace linkgain::test {
namespace {

constexpr int kBaselineLaunches = 8;
constexpr int kSlowCase = 37;
const double kFivePercent = std::log(1.05);

int runs() {
  const char* wanted = std::getenv("LINKGAIN_SIMULATION_RUNS");
  return wanted == nullptr ? 60 : std::max(1, std::atoi(wanted));
}

/// Shares of all runs.
struct Shares {
  double alarm = 0.0;     ///< some case that did not change was said to be slower
  double too_good = 0.0;  ///< or faster
  double success = 0.0;   ///< exit status 0
  double found = 0.0;     ///< the case that became slower was said to be
  double plainly = 0.0;   ///< and would have been by Benjamini-Hochberg over all cases
};

struct Question {
  int launches = 2;
  Tolerance tolerance;
  int slow_case = kSlowCase;
  double slowdown = 0.0;  ///< in the log
  bool one_slow() const { return slowdown != 0.0 && slow_case >= 0; }
};

Tolerance within(double share) { return {-share, share}; }

bool found_plainly(const CheckResult& result, int slow_case) {
  std::vector<double> chances;
  for (const CaseCheck& check : result.cases) chances.push_back(check.chance_slower.value());
  return benjamini_hochberg(chances, kFalseDiscoveryRate)[static_cast<std::size_t>(slow_case)];
}

/// Adds a run, which is `one` of all.
void add(Shares& shares, const CheckResult& result, const Question& question, double one) {
  bool alarm = false;
  bool too_good = false;
  for (std::size_t i = 0; i < result.cases.size(); ++i) {
    const bool slow = question.one_slow() && static_cast<int>(i) == question.slow_case;
    const Verdict verdict = result.cases[i].verdict;
    if (slow && verdict == Verdict::slower) shares.found += one;
    alarm = alarm || (!slow && verdict == Verdict::slower);
    too_good = too_good || verdict == Verdict::faster;
  }
  if (alarm) shares.alarm += one;
  if (too_good) shares.too_good += one;
  if (exit_code_of(result) == ExitCode::success) shares.success += one;
  if (question.one_slow() && found_plainly(result, question.slow_case)) shares.plainly += one;
}

std::string percent(double share) { return fmt::format("{:.2f} %", 100.0 * share); }

/// Prints a row of the table in results/regression-simulation.md.
void print_row(const Noise& noise, const Question& question, const Shares& shares) {
  const std::string change =
      question.slowdown == 0.0
          ? std::string("nothing")
          : fmt::format("{} by {:.3g} %", question.slow_case < 0 ? "all cases" : "one case",
                        100.0 * std::expm1(question.slowdown));
  const bool one = question.one_slow();
  fmt::print("| {} | {} | {:.3g} % | {:.0f} % | {:.0f} % | {} | {} | {} | {} | {} |\n", change,
             question.launches, 100.0 * question.tolerance.upper.value(), 100.0 * noise.shared,
             100.0 * noise.state_chance, percent(shares.alarm), percent(shares.too_good),
             percent(shares.success), one ? percent(shares.found) : "",
             one ? percent(shares.plainly) : "");
}

Shares simulate(const Noise& noise, const Question& question) {
  SimulatedMachine machine(noise, 20261121);
  Shares shares;
  for (int run = 0; run < runs(); ++run) {
    const Baseline baseline = baseline_of(machine.measure(kBaselineLaunches), {});
    const auto candidate =
        machine.measure(question.launches, question.slow_case, question.slowdown);
    add(shares, check_launches(candidate, baseline, question.tolerance), question, 1.0 / runs());
  }
  print_row(noise, question, shares);
  return shares;
}

Noise shared(double share) {
  Noise noise;
  noise.shared = share;
  return noise;
}

class RegressionSimulation : public ::testing::TestWithParam<double> {};

TEST_P(RegressionSimulation, RaisesNoAlarmWhereNothingChanged) {
  for (const int launches : {2, 8}) {
    const Shares shares = simulate(shared(GetParam()), {launches, within(0.05)});
    EXPECT_LT(shares.alarm, 0.05) << launches;
    EXPECT_LT(shares.too_good, 0.05) << launches;
    EXPECT_GT(shares.success, 0.90) << launches;
  }
}

TEST_P(RegressionSimulation, RaisesNoAlarmWithinANarrowToleranceEither) {
  EXPECT_LT(simulate(shared(GetParam()), {2, within(0.02)}).alarm, 0.05);
  const Shares eight = simulate(shared(GetParam()), {8, within(0.02)});
  EXPECT_LT(eight.alarm, 0.05);
  EXPECT_GT(eight.success, 0.90);
}

TEST_P(RegressionSimulation, FindsOneCaseThatBecameSlower) {
  const Question two{2, within(0.02), kSlowCase, kFivePercent};
  EXPECT_GT(simulate(shared(GetParam()), two).found, 0.98);
  const Question eight{8, within(0.02), kSlowCase, kFivePercent};
  EXPECT_GT(simulate(shared(GetParam()), eight).found, 0.99);
}

INSTANTIATE_TEST_SUITE_P(SharedByTheCasesOfALaunch, RegressionSimulation,
                         ::testing::Values(0.0, 0.5));

// Tests the worst: every case lies exactly at the tolerance, and none beyond it.
TEST(RegressionSimulation, KeepsItsRateWhereEveryCaseLiesAtTheTolerance) {
  const Shares shares = simulate(shared(0.0), {8, within(0.02), -1, std::log(1.02)});
  EXPECT_LT(shares.alarm, 0.05 + 3.0 * std::sqrt(0.05 * 0.95 / runs())) << "three standard errors";
}

// Simulates what small operations on two H200 do: 6 us in most launches, 9 us in some. A case of
// which both of two launches are in the slow state looks like a regression; eight tell.
TEST(RegressionSimulation, RaisesNoAlarmForSlowStatesWithEightLaunches) {
  Noise noise;
  noise.state_chance = 0.1;
  simulate(noise, {2, within(0.05)});
  EXPECT_LT(simulate(noise, {8, within(0.05)}).alarm, 0.05);
}

// Shows why launches are the replicates, and how the simulation could fail: on the same machine,
// nothing changed, who counts samples raises an alarm in most runs.
TEST(RegressionSimulation, WouldRaiseFalseAlarmsIfSamplesWereReplicates) {
  constexpr int kRuns = 10;
  SimulatedMachine machine({}, 20261122);
  int on_samples = 0;
  int on_launches = 0;
  for (int run = 0; run < kRuns; ++run) {
    const Baseline samples = baseline_of(machine.measure_samples(kBaselineLaunches), {});
    const CheckResult wrong = check_launches(machine.measure_samples(2), samples, within(0.005));
    if (count_of(wrong, Verdict::slower) > 0) ++on_samples;
    const Baseline launches = baseline_of(machine.measure(kBaselineLaunches), {});
    const CheckResult right = check_launches(machine.measure(2), launches, within(0.005));
    if (count_of(right, Verdict::slower) > 0) ++on_launches;
  }
  EXPECT_GT(on_samples, kRuns / 2);
  EXPECT_LE(on_launches, 1);
}

TEST(SimulatedMachine, HasTheNoiseItSays) {
  Noise noise;
  noise.spike_chance = 0.0;
  SimulatedMachine machine(noise, 5);
  std::vector<double> logs;
  for (int i = 0; i < 2000; ++i) {
    const std::vector<double> launch = machine.samples();
    logs.insert(logs.end(), launch.begin(), launch.end());
  }
  double squares = 0.0;
  double products = 0.0;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    squares += logs[i] * logs[i];
    if (i % static_cast<std::size_t>(noise.rounds) != 0) products += logs[i] * logs[i - 1];
  }
  const double count = static_cast<double>(logs.size());
  EXPECT_NEAR(std::sqrt(squares / count), noise.within, 0.0003);
  EXPECT_NEAR(products / (count * (noise.rounds - 1) / noise.rounds) / (squares / count),
              noise.correlation, 0.03);
}

}  // namespace
}  // namespace linkgain::test
