#pragma once

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/statistics/statistics.hpp"

/// Launches of a machine with the noise that machines show, from a seed.
namespace linkgain::test {

/// Standard deviations of log times.
struct Noise {
  double within = 0.01;        ///< of samples of one launch about its level, without the spikes
  double correlation = 0.5;    ///< of a sample with the one before
  double spike_chance = 0.05;  ///< of a sample being disturbed, which only ever makes it longer
  double mean_spike = 0.02;
  double between = 0.005;  ///< of launches' levels
  double shared = 0.0;     ///< share of that variance which all cases of a launch have in common
  /// A launch of a case below 256 KiB being in a slow state, and what that costs.
  double state_chance = 0.0;
  double state = 0.3;
  int rounds = 20;  ///< samples of a launch: the fewest that a run takes
};

/// Lists 100 cases: four operations of 25 sizes, 8 B to 128 MiB.
inline std::vector<Case> simulated_cases() {
  std::vector<Case> cases;
  for (const OperationKind operation : {OperationKind::all_reduce, OperationKind::all_gather,
                                        OperationKind::alltoall, OperationKind::send_recv}) {
    for (int power = 3; power < 28; ++power) {
      Case each;
      each.operation = operation;
      each.size = Bytes{std::int64_t{1} << power};
      cases.push_back(each);
    }
  }
  return cases;
}

class SimulatedMachine {
 public:
  SimulatedMachine(const Noise& noise, unsigned seed)
      : noise_(noise), cases_(simulated_cases()), generator_(seed) {
    for (double& level : bank_) level = median(samples());
  }

  /// Returns medians of `launches` starts, in which case `slow_case` takes `slowdown` more in the
  /// log; all cases if it is -1.
  std::vector<CaseLaunches> measure(int launches, int slow_case = 0, double slowdown = 0.0) {
    std::vector<CaseLaunches> all = empty_cases();
    for (int launch = 0; launch < launches; ++launch) {
      const double common = normal(noise_.between * std::sqrt(noise_.shared));
      for (std::size_t i = 0; i < all.size(); ++i) {
        const bool slow = slow_case < 0 || i == static_cast<std::size_t>(slow_case);
        const double log = common + normal(noise_.between * std::sqrt(1.0 - noise_.shared)) +
                           bank_[generator_() % bank_.size()] + (slow ? slowdown : 0.0) +
                           state_of(all[i].definition);
        all[i].launches.push_back({launch, Seconds{1e-3 * std::exp(log)}});
      }
    }
    return all;
  }

  /// Takes every sample for a launch of its own, as who takes samples for replicates does.
  std::vector<CaseLaunches> measure_samples(int launches) {
    std::vector<CaseLaunches> all = empty_cases();
    for (CaseLaunches& each : all) {
      for (int launch = 0; launch < launches; ++launch) {
        const double level = normal(noise_.between);
        for (const double log : samples()) {
          const int number = static_cast<int>(each.launches.size());
          each.launches.push_back({number, Seconds{1e-3 * std::exp(level + log)}});
        }
      }
    }
    return all;
  }

  /// Draws logs of one launch's samples about its level.
  std::vector<double> samples() {
    std::vector<double> logs;
    double log = normal(noise_.within);
    const double kick = noise_.within * std::sqrt(1.0 - noise_.correlation * noise_.correlation);
    for (int round = 0; round < noise_.rounds; ++round) {
      const bool disturbed = uniform_(generator_) < noise_.spike_chance;
      logs.push_back(log +
                     (disturbed ? -noise_.mean_spike * std::log1p(-uniform_(generator_)) : 0.0));
      log = noise_.correlation * log + normal(kick);
    }
    return logs;
  }

 private:
  double state_of(const Case& definition) {
    if (noise_.state_chance == 0.0 || definition.size.value >= 256 << 10) return 0.0;
    return uniform_(generator_) < noise_.state_chance ? noise_.state : 0.0;
  }

  double normal(double deviation) { return deviation * normal_(generator_); }

  std::vector<CaseLaunches> empty_cases() const {
    std::vector<CaseLaunches> all;
    for (const Case& each : cases_) all.push_back({each, "p2p", {}, {Path::nvlink}});
    return all;
  }

  Noise noise_;
  std::vector<Case> cases_;
  std::mt19937_64 generator_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  /// Medians of launches about their level: many, drawn from again and again, because to simulate
  /// the samples of each launch anew would take most of the time.
  std::array<double, 4096> bank_{};
};

}  // namespace linkgain::test
