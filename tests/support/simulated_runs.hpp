#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/record/record.hpp"

/// Whole runs, seeded, with the components of variance that two H200 showed, and with the rule that
/// adds launches.
namespace linkgain::test {

/// Returns the standard deviation of the log of a launch's level, measured from 8 B to 256 MiB:
/// that of A/A ratios of one launch each over the square root of two.
inline double deviation_at(Bytes size) {
  struct Point {
    double bytes;
    double deviation;
  };
  constexpr Point kPoints[] = {{8, 0.0134},        {4 << 10, 0.0120},  {64 << 10, 0.0092},
                               {1 << 20, 0.0050},  {16 << 20, 0.0035}, {256 << 20, 0.0012},
                               {1LL << 34, 0.0012}};
  const double bytes = static_cast<double>(size.value);
  for (std::size_t i = 1; i < std::size(kPoints); ++i) {
    if (bytes > kPoints[i].bytes) continue;
    const double share =
        std::log(bytes / kPoints[i - 1].bytes) / std::log(kPoints[i].bytes / kPoints[i - 1].bytes);
    return std::lerp(kPoints[i - 1].deviation, kPoints[i].deviation, share);
  }
  return kPoints[std::size(kPoints) - 1].deviation;
}

/// What a simulated machine does to a launch beside scattering.
struct Behaviour {
  std::string name;
  int step = 4;              ///< factor between sizes
  double other_scale = 1.0;  ///< the second variant's deviation over the first's
  bool two_modes = false;    ///< below 1 MiB placement has two, 2.4 % apart, instead of a bell
  /// Below 64 KiB, of the job started first over the one started last; in between by the order.
  double start_bias = 0.0;
  double common = 0.0;  ///< share of the variance that all cases of a job have in common
};

class SimulatedRun {
 public:
  SimulatedRun(const Behaviour& behaviour, unsigned seed)
      : behaviour_(behaviour), generator_(seed) {
    record_.settings.variants = {{"p2p", {}}, {"host", {}}};
    for (std::int64_t bytes = 8; bytes <= 1 << 28; bytes *= behaviour.step) {
      Case definition;
      definition.size = Bytes{bytes};
      definition.launch = bytes < 1 << 20 ? LaunchMode::graph : LaunchMode::stream;
      add(definition);
    }
    Case training;
    training.operation = OperationKind::gpt2_step;
    training.training.emplace();
    training.size = Bytes{std::int64_t{498} << 20};
    add(training);
    training.training->strategy = TrainingStrategy::none;
    add(training);
  }

  const Record& measure() {
    start(0, kLaunches, all_cases());
    summarise(record_);
    for (int done = kLaunches;;) {
      const MoreLaunches more = launches_worth_adding(record_, kLaunches, done);
      if (more.launches == 0) return record_;
      start(done, more.launches, more.cases);
      summarise(record_);
      done += more.launches;
    }
  }

  static constexpr double kRatio = 1.7;
  static constexpr double kStep = 0.080;  ///< of a training, of which this is computing
  static constexpr double kComputing = 0.078;

 private:
  static constexpr int kLaunches = 6;

  void add(const Case& definition) {
    CaseResult result;
    result.definition = definition;
    for (const Variant& variant : record_.settings.variants) {
      result.variants.emplace_back();
      result.variants.back().variant = variant.name;
    }
    record_.cases.push_back(std::move(result));
  }

  std::vector<int> all_cases() const {
    std::vector<int> all;
    for (std::size_t i = 0; i < record_.cases.size(); ++i) all.push_back(static_cast<int>(i));
    return all;
  }

  /// Starts `launches` from `first` on: a job of each in every variant, all in random order.
  void start(int first, int launches, const std::vector<int>& cases) {
    std::vector<double> order(2 * static_cast<std::size_t>(launches));
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = 1.0 - static_cast<double>(i) / static_cast<double>(order.size() - 1);
    }
    std::ranges::shuffle(order, generator_);
    for (int launch = first; launch < first + launches; ++launch) {
      for (int variant = 0; variant < 2; ++variant) {
        const double of_job = normal(1.0);
        for (const int index : cases) sample(index, variant, launch, of_job, order.back());
        order.pop_back();
      }
    }
  }

  void sample(int index, int variant, int launch, double of_job, double start) {
    CaseResult& result = record_.cases[static_cast<std::size_t>(index)];
    const Case& definition = result.definition;
    const bool alone = definition.training && !uses_link(definition);
    if (alone && variant == 1) return;
    const double deviation =
        (variant == 0 ? 1.0 : behaviour_.other_scale) * deviation_at(definition.size);
    const bool modes = behaviour_.two_modes && definition.size.value < 1 << 20;
    const double own =
        modes ? (std::bernoulli_distribution(0.5)(generator_) ? 1.0 : -1.0) : normal(1.0);
    const double level = deviation * (std::sqrt(behaviour_.common) * of_job +
                                      std::sqrt(1.0 - behaviour_.common) * own) +
                         (definition.size.value < 64 << 10 ? start * behaviour_.start_bias : 0.0);
    const double time = (alone                 ? kComputing
                         : definition.training ? kStep
                                               : 1e-6) *
                        (variant == 1 ? kRatio : 1.0) * std::exp(level);
    for (int round = 0; round < 4; ++round) {
      result.samples.push_back({.variant = variant,
                                .launch = launch,
                                .round = round,
                                .times = {Seconds{time * std::exp(normal(0.001))}},
                                .health = {}});
    }
  }

  double normal(double deviation) { return deviation * normal_(generator_); }

  Behaviour behaviour_;
  std::mt19937_64 generator_;
  std::normal_distribution<double> normal_;
  Record record_;
};

/// How many intervals held the truth.
struct Count {
  int held = 0;
  int all = 0;
  double share() const { return static_cast<double>(held) / all; }
  void add(bool holds) {
    ++all;
    held += holds ? 1 : 0;
  }
  void add(const Count& others) {
    all += others.all;
    held += others.held;
  }
};

inline std::string class_of(const Case& definition) {
  if (definition.training) return "training";
  if (definition.size.value < 64 << 10) return "graph below 64 KiB";
  if (definition.size.value < 1 << 20) return "graph below 1 MiB";
  return definition.size.value < 16 << 20 ? "stream below 16 MiB" : "stream from 16 MiB";
}

/// Expects 92 to 98 % in each class, but for two standard errors of the count, and 93 to 97 % in
/// all.
inline void expect_near_95_percent(const std::map<std::string, Count>& counts) {
  Count all;
  for (const auto& [name, each] : counts) {
    all.add(each);
    const double chance = 2.0 * std::sqrt(0.95 * 0.05 / each.all);
    EXPECT_GE(each.share(), 0.92 - chance) << name;
    EXPECT_LE(each.share(), 0.98 + chance) << name;
  }
  EXPECT_GE(all.share(), 0.93);
  EXPECT_LE(all.share(), 0.97);
}

inline std::vector<Behaviour> simulated_machines() {
  return {{.name = "bells"},
          {.name = "dense sizes", .step = 2},
          {.name = "few sizes", .step = 16},
          {.name = "unequal", .other_scale = 3.0},
          {.name = "two modes", .two_modes = true},
          {.name = "start bias", .start_bias = 0.016},
          {.name = "common", .common = 0.7}};
}

}  // namespace linkgain::test
