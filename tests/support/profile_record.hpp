#pragma once

#include <algorithm>
#include <cmath>

#include "fleet_records.hpp"
#include "linkgain/cases/profiles.hpp"
#include "linkgain/gpt2/training_strategy.hpp"

namespace linkgain::test {

/// Returns an operation's seconds on a made-up link: slower without P2P, by kernel faster if small.
inline double made_up_time(const Case& c, bool p2p) {
  if (c.training) return (uses_link(c) ? p2p ? 0.080 : 0.087 : 0.078);
  const double least = (p2p ? 6e-6 : 9e-6) * (c.kernel ? 0.4 : 1.0);
  const double factor = std::max(1.0, bus_bandwidth_factor(c.operation, c.ranks));
  return least + factor * static_cast<double>(c.size.value) / (p2p ? 340e9 : 25e9);
}

/// Runs all that a profile measures on one node of so many GPUs, with samples of some launches.
inline Record profile_record(Profile profile, int gpus, int launches, int rounds) {
  Record record = fleet_machine("node1", gpus);
  record.settings.profile = name_of(profile);
  record.settings.launches = launches;
  record.settings.training = TrainingPlan{};
  const auto selections = plan_of(profile, BackendKind::nccl).selections;
  int sequence = 0;
  std::uint64_t seed = 0;
  for (const Case& definition : expand(selections, gpus, BackendKind::nccl)) {
    CaseResult& result = record.cases.emplace_back();
    result.definition = definition;
    result.variants = {
        fleet_variant(definition, "p2p", made_up_time(definition, true), Path::nvlink),
        fleet_variant(definition, "host", made_up_time(definition, false), Path::host_memory)};
    for (int launch = 0; launch < launches; ++launch) {
      for (int variant = 0; variant < 2; ++variant) {
        FleetNoise noise(++seed);
        const double level =
            made_up_time(definition, variant == 0) * std::exp(0.02 * noise.normal());
        for (int round = 0; round < rounds; ++round) {
          const double seconds = level * std::exp(0.002 * noise.normal());
          Sample sample;
          sample.sequence = sequence++;
          sample.variant = variant;
          sample.launch = launch;
          sample.round = round;
          for (int rank = 0; rank < gpus; ++rank) {
            sample.times.emplace_back(Seconds{seconds});
            sample.health.push_back({.temperature_c = 45 + rank,
                                     .power_w = 200.0 + 5.0 * noise.normal(),
                                     .sm_clock_mhz = 1980,
                                     .clock_event_reasons = 0});
          }
          result.samples.push_back(std::move(sample));
        }
      }
    }
    summarise(result);
  }
  return record;
}

}  // namespace linkgain::test
