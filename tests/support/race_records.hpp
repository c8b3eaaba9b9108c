#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/launch_records.hpp"
#include "support/sample_records.hpp"

namespace linkgain::test {

/// By setting, the share of the default's time that it takes at 1, 2, 4, 8 and 16 MiB.
using Shares = std::map<std::string, std::vector<double>>;

/// What a race is made of.
struct Race {
  Shares choice;                           ///< while launches choose
  Shares fresh{};                          ///< of those that confirm, where not the same
  std::map<std::string, Variant> named{};  ///< what the settings set
  int launches = 10;                       ///< until the run ended
};

inline double share_of(const Race& race, const std::string& name, std::size_t size, bool is_fresh) {
  const Shares& shares = is_fresh && race.fresh.contains(name) ? race.fresh : race.choice;
  return shares.at(name)[size];
}

/// Makes a race of 2, 2 and 6 launches that differ by a few per mille.
inline Record race_record(const Race& race) {
  Record record = two_gpus();
  record.settings.argv = {"linkgain", "run", "--tune"};
  record.settings.race.emplace();
  record.settings.launches = record.settings.race->launches();
  record.settings.variants = {{"default", {}}};
  record.settings.environment_in_force.clear();
  for (const auto& [name, shares] : race.choice) {
    const auto set = race.named.find(name);
    record.settings.variants.push_back(
        set != race.named.end() ? set->second : Variant{name, {{"NCCL_PROTO", "LL128"}}});
    record.settings.variants.back().name = name;
  }
  for (std::size_t size = 0; size < 5; ++size) {
    Case definition = all_reduce(std::int64_t{1 << 20} << size);
    definition.launch = LaunchMode::graph;
    CaseResult& result = record.cases.emplace_back();
    result.definition = definition;
    result.stopped = StopReason::converged;
    for (std::size_t i = 0; i < record.settings.variants.size(); ++i) {
      const std::string& name = record.settings.variants[i].name;
      VariantResult& variant = result.variants.emplace_back();
      variant.variant = name;
      variant.path = Path::nvlink;
      variant.evidence = known_evidence(definition);
      variant.evidence->plan = {"RING", i == 0 ? "SIMPLE" : "LL128"};
      for (int launch = 0; launch < race.launches; ++launch) {
        const double scatter = 1.0 + 0.002 * std::sin(7.0 * launch + 3.0 * static_cast<double>(i));
        const double share = i == 0 ? 1.0 : share_of(race, name, size, launch >= 4);
        add_samples(result, static_cast<int>(i), launch,
                    1e-5 * std::ldexp(1.0, static_cast<int>(size)) * share * scatter);
      }
    }
  }
  summarise(record);
  return record;
}

}  // namespace linkgain::test
