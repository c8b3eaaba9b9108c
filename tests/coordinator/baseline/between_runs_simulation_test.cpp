// How often a check of an unchanged program ends with 1 where runs differ, not only launches, and
// what it still finds: seeded simulations. LINKGAIN_SIMULATION_RUNS=1000 gives the figures of
// results/regression-simulation.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/baseline/regression.hpp"

namespace linkgain::test {
namespace {

/// Returns as many as are wanted, else `usual`.
int runs(int usual) {
  const char* wanted = std::getenv("LINKGAIN_SIMULATION_RUNS");
  return wanted == nullptr ? usual : std::max(1, std::atoi(wanted));
}

constexpr int kOfUnchanged = 60;  ///< whose alarms are far rarer than they may be
constexpr int kOfChanged = 400;

/// What the cases of a run have in common.
enum class Effects { common, own };

enum class Cases { sizes, metrics };

struct Situation {
  Cases kind = Cases::metrics;
  int cases = 1;
  Effects effects = Effects::common;
  int baseline_runs = 3;
  double apart = 0.0;  ///< standard deviation of the log of a run's level
  double slower = 0.0;
  int slow_cases = 0;               ///< the first so many
  int launches = 8;                 ///< of what is checked; the baseline's runs have eight
  double unsteady = 1.0;            ///< so many times as much its launches scatter
  double slow_state_of_runs = 0.0;  ///< share of runs that are 10 % slower, all else alike
  double slow_state_of_launches = 0.0;
};

/// Makes metrics of a program, each a pool, or sizes of an all-reduce, which are pooled.
std::vector<Case> cases_of(const Situation& situation) {
  std::vector<Case> cases(static_cast<std::size_t>(situation.cases));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (situation.kind == Cases::sizes) {
      cases[i].size = Bytes{std::int64_t{1 << 20} << i};
    } else {
      cases[i].metric = ProgramMetric{.name = fmt::format("m{}", i)};
    }
  }
  return cases;
}

class Program {
 public:
  explicit Program(const Situation& situation)
      : situation_(situation), cases_(cases_of(situation)), generator_(20261128) {}

  std::vector<CaseLaunches> measure(int runs, int launches, bool changed) {
    std::vector<CaseLaunches> all;
    for (const Case& each : cases_) all.push_back({each, "p2p", {}, {Path::nvlink}});
    for (int run = 0; run < runs; ++run) add_run(all, run, launches, changed);
    return all;
  }

 private:
  void add_run(std::vector<CaseLaunches>& all, int run, int launches, bool changed) {
    const double between_launches = 0.005 * (changed ? situation_.unsteady : 1.0);
    const double common = normal(situation_.apart) + state(situation_.slow_state_of_runs);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double level =
          situation_.effects == Effects::common ? common : normal(situation_.apart);
      const bool is_slow = changed && i < static_cast<std::size_t>(situation_.slow_cases);
      for (int launch = 0; launch < launches; ++launch) {
        const double log = level + normal(between_launches) +
                           state(situation_.slow_state_of_launches) +
                           (is_slow ? std::log1p(situation_.slower) : 0.0);
        all[i].launches.push_back({run * launches + launch, Seconds{1e-3 * std::exp(log)}});
        all[i].runs.push_back(run);
      }
    }
  }

  double normal(double deviation) { return deviation * normal_(generator_); }

  /// Draws whether the state is the slow one.
  double state(double share) {
    if (share == 0.0) return 0.0;
    return std::bernoulli_distribution(share)(generator_) ? std::log1p(0.1) : 0.0;
  }

  Situation situation_;
  std::vector<Case> cases_;
  std::mt19937_64 generator_;
  std::normal_distribution<double> normal_;
};

/// Shares of all simulated checks.
struct Shares {
  double failed = 0.0;  ///< exit status 1
  double open = 0.0;    ///< 7
  double held = 0.0;    ///< 95 % intervals of cases that hold 0
};

/// Returns the standard error of a share of so many checks.
double error_at(double share, int checks) { return std::sqrt(share * (1.0 - share) / checks); }

/// Says in a row how runs differ.
std::string scatter_of(const Situation& situation) {
  for (const auto& [share, what] : {std::pair(situation.slow_state_of_runs, "runs"),
                                    std::pair(situation.slow_state_of_launches, "launches")}) {
    if (share > 0.0) return fmt::format("{:.0f} % of {} slow", 100.0 * share, what);
  }
  return fmt::format("{:.0f} %{}", 100.0 * situation.apart,
                     situation.unsteady == 1.0
                         ? std::string()
                         : fmt::format(", launches {:.0f}x", situation.unsteady));
}

Shares simulate(const Situation& situation, int checks) {
  Program program(situation);
  Shares shares;
  for (int i = 0; i < checks; ++i) {
    const Baseline baseline = baseline_of(program.measure(situation.baseline_runs, 8, false), {});
    const CheckResult result =
        check_launches(program.measure(1, situation.launches, true), baseline);
    if (exit_code_of(result) == ExitCode::problem_found) shares.failed += 1.0 / checks;
    if (exit_code_of(result) == ExitCode::inconclusive) shares.open += 1.0 / checks;
    for (const CaseCheck& check : result.cases) {
      const bool held = check.interval && check.interval->holds(0.0);
      shares.held += held ? 1.0 / (checks * situation.cases) : 0.0;
    }
  }
  fmt::print("| {} {} | {} | {} | {} | {} | {} | {:.2f} % | {:.2f} % | {:.1f} % |\n",
             situation.cases, situation.kind == Cases::sizes ? "sizes" : "metrics",
             situation.effects == Effects::common ? "common" : "own", situation.baseline_runs,
             scatter_of(situation),
             situation.slow_cases == 0
                 ? std::string("nothing")
                 : fmt::format("{} by {:.0f} %", situation.slow_cases, 100.0 * situation.slower),
             situation.launches, 100.0 * shares.failed, 100.0 * shares.open, 100.0 * shares.held);
  return shares;
}

/// Combines every kind and number of cases, whether a run's effect is common to them or not.
std::vector<Situation> situations() {
  std::vector<Situation> all;
  for (const Cases kind : {Cases::metrics, Cases::sizes}) {
    for (const int cases : {1, 3, 12}) {
      for (const Effects effects : {Effects::common, Effects::own}) {
        if (cases == 1 && (effects == Effects::own || kind == Cases::sizes)) continue;
        all.push_back({.kind = kind, .cases = cases, .effects = effects});
      }
    }
  }
  return all;
}

TEST(BetweenRuns, UnchangedProgramsSeldomFail) {
  for (Situation situation : situations()) {
    for (const int baseline_runs : {3, 5}) {
      for (const double apart : {0.0, 0.01, 0.02, 0.04}) {
        situation.baseline_runs = baseline_runs;
        situation.apart = apart;
        EXPECT_LE(simulate(situation, runs(kOfUnchanged)).failed, 0.06)
            << situation.cases << " " << apart;
      }
    }
  }
}

/// Knows that few launches scatter more than the baseline's eight.
TEST(BetweenRuns, UnchangedProgramsSeldomFailOfFewerLaunchesEither) {
  Situation situation{.baseline_runs = 5, .apart = 0.01, .launches = 2};
  EXPECT_LE(simulate(situation, runs(kOfUnchanged)).failed, 0.06);
}

/// Accepts that it is a little rarer in several cases, which are tested together.
TEST(BetweenRuns, TenPercentIsFound) {
  for (Situation situation : situations()) {
    situation.baseline_runs = 5;
    situation.apart = 0.01;
    situation.slower = 0.1;
    for (const int slow_cases : {1, situation.cases}) {
      situation.slow_cases = slow_cases;
      const int checks = runs(kOfChanged);
      const double wanted = situation.cases == 1 ? 0.95 : 0.92;
      EXPECT_GE(simulate(situation, checks).failed, wanted - 3.0 * error_at(wanted, checks));
      if (situation.cases == 1) break;
    }
  }
}

TEST(BetweenRuns, AnUnchangedProgramIsSeldomOpen) {
  Situation situation{.baseline_runs = 5, .apart = 0.01};
  EXPECT_LE(simulate(situation, runs(kOfChanged)).open, 0.15);
  situation = {.kind = Cases::sizes, .cases = 12, .baseline_runs = 5, .apart = 0.01};
  EXPECT_LE(simulate(situation, runs(kOfChanged)).open, 0.15);
}

/// Makes each metric a headline with four degrees of freedom of its own.
TEST(BetweenRuns, AnUnchangedProgramIsOftenOpenInOneOfTwelveIndependentMetrics) {
  const Situation situation{
      .cases = 12, .effects = Effects::own, .baseline_runs = 5, .apart = 0.01};
  const Shares shares = simulate(situation, runs(kOfChanged));
  EXPECT_LE(shares.failed, 0.06);
  EXPECT_NEAR(shares.open, 0.46, 0.08);
}

/// Shows where runs do not scatter as a t test has it: if all of the baseline were fast, a slow one
/// lies far out. In launches the states weigh less, for a run has eight.
TEST(BetweenRuns, UnchangedProgramsOfTwoStatesFailMoreOften) {
  const int checks = runs(kOfChanged);
  for (const auto& [baseline_runs, known] : {std::pair(3, 0.105), {5, 0.06}, {8, 0.035}}) {
    const Situation slow_runs{.baseline_runs = baseline_runs, .slow_state_of_runs = 0.2};
    EXPECT_LE(simulate(slow_runs, checks).failed, known + 3.0 * error_at(known, checks));
    const Situation slow_launches{.baseline_runs = baseline_runs, .slow_state_of_launches = 0.2};
    EXPECT_LE(simulate(slow_launches, checks).failed, 0.01);
  }
}

/// Widens the interval of a run whose launches lie further apart than the baseline's.
TEST(BetweenRuns, IntervalsHoldTheTruthHoweverUnsteadyTheRunIs) {
  for (Situation situation :
       {Situation{}, {.kind = Cases::sizes, .cases = 6, .baseline_runs = 5}}) {
    for (const double unsteady : {1.0, 2.0, 4.0, 20.0}) {
      situation.unsteady = unsteady;
      const int checks = runs(kOfChanged);
      const Shares shares = simulate(situation, checks);
      EXPECT_NEAR(shares.held, 0.95, 0.015 + 3.0 * error_at(0.95, checks)) << unsteady;
      EXPECT_LE(shares.failed, 0.02) << unsteady;
    }
  }
}

/// Shows how this simulation could fail: by launches alone, as of a baseline of one run.
TEST(BetweenRuns, UnchangedProgramsOftenFailWhereLaunchesAreCompared) {
  Situation situation{.baseline_runs = 1, .apart = 0.04};
  EXPECT_GT(simulate(situation, runs(kOfUnchanged)).failed, 0.1);
}

}  // namespace
}  // namespace linkgain::test
