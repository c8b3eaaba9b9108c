// How often estimate_ratio()'s 95 % interval holds the true ratio, in seeded simulations of rounds
// with the noise that machines show.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "linkgain/statistics/ratio.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

using Generator = std::mt19937_64;
/// Draws the log of one time's factor over what the machine would take undisturbed.
using Noise = std::function<double(Generator&)>;

constexpr double kTrueRatio = 1.29;

double normal(Generator& generator, double deviation) {
  return std::normal_distribution<double>(0.0, deviation)(generator);
}

double quiet(Generator& generator) { return normal(generator, 0.004); }

/// Student's t with two degrees of freedom: no variance.
double heavy_tailed(Generator& generator) {
  return 0.004 * std::student_t_distribution<double>(2.0)(generator);
}

/// Every third sample is disturbed, which only ever makes it longer.
double spiky(Generator& generator) {
  const bool disturbed = std::bernoulli_distribution(1.0 / 3.0)(generator);
  return quiet(generator) +
         (disturbed ? std::exponential_distribution<double>(1.0 / 0.02)(generator) : 0.0);
}

/// The pseudo-median of the log ratio: the median of (X1 + X2) / 2 over independent rounds.
double pseudo_median(const Noise& first, const Noise& other) {
  Generator generator(987654321);
  std::vector<double> averages(200'000);
  for (double& average : averages) {
    average = 0.5 * (other(generator) - first(generator) + other(generator) - first(generator));
  }
  return std::log(kTrueRatio) + median(averages);
}

/// Rounds of two variants on a machine whose speed wanders, by more than the noise, for both alike.
class Machine {
 public:
  Machine(const Noise& first, const Noise& other) : first_noise_(first), other_noise_(other) {}

  /// Measures until there are `count` rounds in all.
  void add_rounds(int count, Generator& generator) {
    while (static_cast<int>(first_.size()) < count) {
      drift_ += normal(generator, 0.01);
      first_.push_back(3.27e-3 * std::exp(drift_ + first_noise_(generator)));
      other_.push_back(3.27e-3 * kTrueRatio * std::exp(drift_ + other_noise_(generator)));
    }
  }

  Ratio ratio() const { return estimate_ratio(first_, other_); }

 private:
  const Noise& first_noise_;
  const Noise& other_noise_;
  double drift_ = 0.0;
  std::vector<double> first_;
  std::vector<double> other_;
};

bool holds(const Ratio& ratio, double log_truth) {
  return std::log(ratio.low.value()) <= log_truth && log_truth <= std::log(ratio.high.value());
}

/// The share of runs of `count` rounds whose interval holds the truth.
double coverage_after(int count, const Noise& first, const Noise& other) {
  constexpr int kRuns = 2000;
  const double truth = pseudo_median(first, other);
  Generator generator(20240607);
  int held = 0;
  for (int run = 0; run < kRuns; ++run) {
    Machine machine(first, other);
    machine.add_rounds(count, generator);
    if (holds(machine.ratio(), truth)) ++held;
  }
  return static_cast<double>(held) / kRuns;
}

// 95.7, 95.7, 95.3 and 95.4 % in 4 000 runs; 0.015 is three standard errors of 2000.
TEST(RatioCoverage, IsNear95PercentAfterTwentyRounds) {
  EXPECT_NEAR(coverage_after(20, quiet, quiet), 0.955, 0.015);
  EXPECT_NEAR(coverage_after(20, heavy_tailed, heavy_tailed), 0.955, 0.015);
  EXPECT_NEAR(coverage_after(20, quiet, spiky), 0.955, 0.015);
  EXPECT_NEAR(coverage_after(20, spiky, spiky), 0.955, 0.015);
}

struct Stopped {
  double coverage = 0.0;
  double mean_rounds = 0.0;
};

/// Runs that the default StoppingRule ends.
Stopped coverage_when_stopped(const Noise& first, const Noise& other) {
  constexpr int kRuns = 500;
  const double truth = pseudo_median(first, other);
  const StoppingRule rule{{}};
  Generator generator(20240608);
  Stopped result;
  for (int run = 0; run < kRuns; ++run) {
    Machine machine(first, other);
    Ratio ratio;
    auto decision = StoppingRule::Decision::go_on;
    for (int look = 0; decision == StoppingRule::Decision::go_on; ++look) {
      machine.add_rounds(rule.rounds_at_look(look), generator);
      ratio = machine.ratio();
      decision = rule.decide(look, {&ratio, 1}, Seconds{1.0});
    }
    if (holds(ratio, truth)) result.coverage += 1.0 / kRuns;
    result.mean_rounds += static_cast<double>(ratio.rounds) / kRuns;
  }
  return result;
}

Noise louder(double factor, const Noise& noise) {
  return [factor, noise](Generator& generator) { return factor * noise(generator); };
}

// Looking again and again for a narrow interval costs little, because the width says little about
// which side of the truth the estimate lies on: in 4000 runs 95.1, 94.8 and 95.4 % remain for the
// three noises here, and 93.3 % in the worst tried, where one-sided noise takes 190 rounds.
TEST(RatioCoverage, RemainsWhenTheStoppingRuleEndsTheRun) {
  const Stopped normal_noise = coverage_when_stopped(louder(4.0, quiet), louder(4.0, quiet));
  EXPECT_GT(normal_noise.coverage, 0.92);
  EXPECT_GT(normal_noise.mean_rounds, 25.0) << "the rule looked more than once";
  const Stopped heavy = coverage_when_stopped(louder(2.0, heavy_tailed), louder(2.0, heavy_tailed));
  EXPECT_GT(heavy.coverage, 0.92);
  const Stopped one_sided = coverage_when_stopped(louder(2.0, quiet), louder(2.0, spiky));
  EXPECT_GT(one_sided.coverage, 0.92);
  EXPECT_GT(one_sided.mean_rounds, 25.0);
}

// In 4000 runs: 91 % with grouping, 67 % without, which is what an interval that takes each round
// for an independent one gives where the mean's variance is (1 + 0.6) / (1 - 0.6) = 4 times that.
TEST(RatioCoverage, IsKeptByGroupingWhereRoundsAreCorrelated) {
  constexpr int kRuns = 400;
  constexpr std::size_t kRounds = 102;
  constexpr double kCorrelation = 0.6;
  Generator generator(20240609);
  double grouped = 0.0;
  double plain = 0.0;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> logs;
    std::vector<double> other;
    double log = normal(generator, 0.01 / std::sqrt(1.0 - kCorrelation * kCorrelation));
    while (logs.size() < kRounds) {
      log = kCorrelation * log + normal(generator, 0.01);
      logs.push_back(log);
      other.push_back(std::exp(log));
    }
    if (holds(estimate_ratio(std::vector<double>(kRounds, 1.0), other), 0.0)) grouped += 1.0;
    const SignedRankEstimate ungrouped = hodges_lehmann(logs);
    if (ungrouped.low.value() <= 0.0 && ungrouped.high.value() >= 0.0) plain += 1.0;
  }
  EXPECT_GT(grouped / kRuns, 0.87);
  EXPECT_GT(grouped / kRuns, plain / kRuns + 0.15);
}

}  // namespace
}  // namespace linkgain
