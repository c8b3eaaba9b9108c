#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "linkgain/fleet/fleet.hpp"
#include "support/fleet_records.hpp"

namespace linkgain::test {

/// node01 … node12, healthy until a test says otherwise.
class Fleet : public ::testing::Test {
 protected:
  Fleet() { reset(); }

  void reset() {
    records_.clear();
    others_.clear();
    for (int i = 1; i <= 12; ++i) {
      records_.push_back(fleet_node(fmt::format("node{:02}", i), static_cast<std::uint64_t>(i)));
    }
  }

  Record& node(int number) { return records_.at(static_cast<std::size_t>(number - 1)); }

  FleetReport judge(const FleetOptions& options = {}) {
    std::vector<FleetRecord> fleet;
    for (const Record& record : records_) {
      fleet.push_back(fleet_record_of(record, names_));
      fleet.back().path = record.machine.host + "/record.json";
    }
    fleet.insert(fleet.end(), others_.begin(), others_.end());
    return judge_fleet(fleet, names_, options);
  }

  std::vector<Record> records_;
  std::vector<FleetRecord> others_;
  FleetNames names_;
};

inline void slow_down(Record& record, double factor,
                      const std::function<bool(const Case&)>& which) {
  for (CaseResult& result : record.cases) {
    if (which(result.definition)) result.variants[0].time->value *= factor;
  }
}

/// Gives each case eight launches that differ by this, the last one by this factor, too.
inline void measure_launches(Record& record, std::uint64_t seed, double last,
                             double deviation = 0.003) {
  constexpr int kLaunches = 8;
  FleetNoise noise(seed);
  set_launches(record, kLaunches);
  for (CaseResult& result : record.cases) {
    for (int variant = 0; variant < std::ssize(result.variants); ++variant) {
      std::optional<Seconds>& time = result.variants[static_cast<std::size_t>(variant)].time;
      double logs = 0.0;
      for (int launch = 0; launch < kLaunches; ++launch) {
        const double log =
            deviation * noise.normal() + (launch + 1 == kLaunches ? std::log(last) : 0.0);
        logs += log;
        for (std::size_t round = 0; round < kFewestSamples; ++round) {
          Sample sample;
          sample.variant = variant;
          sample.launch = launch;
          sample.times = {Seconds{time->value * std::exp(log)}};
          result.samples.push_back(std::move(sample));
        }
      }
      time = Seconds{time->value * std::exp(logs / kLaunches)};
    }
  }
}

/// Returns what a later `linkgain exec` on the same machine leaves.
inline Record later_program(Record record, const std::string& command) {
  record.started = "2026-11-21T00:00:00Z";
  record.settings.program.emplace().command = {command};
  record.cases.resize(1);
  return record;
}

inline bool is_pair(const Case& c, int a, int b) {
  return c.pair &&
         ((c.pair->from == a && c.pair->to == b) || (c.pair->from == b && c.pair->to == a));
}

}  // namespace linkgain::test
