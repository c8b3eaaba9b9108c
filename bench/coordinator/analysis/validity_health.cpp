#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "validity_parts.hpp"

namespace linkgain {
namespace {

/// Samples that one rank's GPU spent held back in one way, and how.
struct HeldBack {
  std::size_t rank = 0;
  int samples = 0;
  std::set<ClockEvent> events;
};

bool is_power_cap(ClockEvent event) { return event == ClockEvent::power_cap; }

/// By rank, of the events that `counts` says to count.
template <typename Counts>
std::vector<HeldBack> held_back(const Record& record, Counts counts) {
  std::vector<HeldBack> ranks;
  for (const Sample& sample : record.samples) {
    for (std::size_t rank = 0; rank < sample.health.size(); ++rank) {
      while (ranks.size() <= rank) ranks.push_back({.rank = ranks.size(), .samples = 0, .events{}});
      bool held = false;
      for (const ClockEvent event :
           clock_events(sample.health[rank].clock_event_reasons.value_or(0)))
        if (counts(event)) {
          held = true;
          ranks[rank].events.insert(event);
        }
      ranks[rank].samples += held ? 1 : 0;
    }
  }
  std::erase_if(ranks, [](const HeldBack& rank) { return rank.samples == 0; });
  return ranks;
}

/// "rank 1 (GPU 1 of node1)".
std::string describe_rank(const Machine& machine, std::size_t rank) {
  if (rank >= machine.ranks.size() || !machine.ranks[rank].gpu) return fmt::format("rank {}", rank);
  const RankInfo& info = machine.ranks[rank];
  return fmt::format("rank {} (GPU {} of {})", rank, info.gpu->cuda_index, info.host);
}

std::string describe_ranks_held(const Machine& machine, const std::vector<HeldBack>& ranks) {
  std::vector<std::string> parts;
  for (const HeldBack& rank : ranks) {
    std::vector<std::string_view> events;
    for (const ClockEvent event : rank.events) events.push_back(describe(event));
    parts.push_back(fmt::format("{} in {} by {}", describe_rank(machine, rank.rank), rank.samples,
                                fmt::join(events, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// What to do about the events of all ranks together. Heat and power brake set the bit of the
/// hardware slowdown too, so that it has advice of its own only where it stands alone.
std::string advice_for(const std::vector<HeldBack>& ranks) {
  std::set<ClockEvent> events;
  for (const HeldBack& rank : ranks) events.insert(rank.events.begin(), rank.events.end());
  std::vector<std::string_view> advice;
  if (events.contains(ClockEvent::sw_thermal) || events.contains(ClockEvent::hw_thermal)) {
    advice.push_back(
        "heat: look at fans, airflow and the room (nvidia-smi -q -d TEMPERATURE), and let "
        "the GPUs cool down before the next run");
  }
  if (events.contains(ClockEvent::power_brake)) {
    advice.push_back(
        "power brake: give every 8-pin socket a cable of its own and check that the power supply "
        "is large enough");
  }
  if (advice.empty()) {
    advice.push_back(
        "hardware slowdown: look at nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE and at "
        "the power cables");
  }
  return fmt::format("{}", fmt::join(advice, "; "));
}

/// Ranks that gave a time and no clock events make a sample one of unknown health.
bool is_measured(const Sample& sample) {
  for (std::size_t rank = 0; rank < sample.seconds.size(); ++rank) {
    const bool told = rank < sample.health.size() && sample.health[rank].clock_event_reasons;
    if (sample.seconds[rank] && !told) return false;
  }
  return !sample.seconds.empty();
}

HealthSummary summary_of(const Record& record) {
  HealthSummary summary;
  for (const Sample& sample : record.samples) add_sample(summary, sample.health);
  return summary;
}

/// Says what keeps a run from being shown to be healthy; true where there is something.
bool warn_of_unmeasured(Record& record) {
  const auto unknown = std::count_if(record.samples.begin(), record.samples.end(),
                                     [](const Sample& sample) { return !is_measured(sample); });
  if (unknown == 0 && !record.samples.empty()) return false;
  const std::string what = record.samples.empty()
                               ? std::string("no sample was taken")
                               : fmt::format("clock events were not measured in {} of {} samples",
                                             unknown, record.samples.size());
  add_once(record, {"health-not-measured", "--require-healthy cannot be met: " + what,
                    "`linkgain doctor` says what of NVML can be read on this machine; without it "
                    "leave --require-healthy away"});
  return true;
}

}  // namespace

bool judge_health(Record& record) {
  const HealthSummary summary = summary_of(record);
  if (summary.unhealthy_samples > 0) {
    const auto ranks = held_back(record, [](ClockEvent event) { return !is_power_cap(event); });
    add_once(record,
             {"unhealthy-samples",
              fmt::format("in {} of {} samples a GPU was held back: {}", summary.unhealthy_samples,
                          summary.samples, describe_ranks_held(record.machine, ranks)),
              advice_for(ranks)});
  }
  if (summary.power_capped_samples > 0) {
    const auto ranks = held_back(record, is_power_cap);
    add_once(record,
             {"power-capped",
              fmt::format("in {} of {} samples a GPU ran at its power limit: {}",
                          summary.power_capped_samples, summary.samples,
                          describe_ranks_held(record.machine, ranks)),
              "expected under heavy work; compare the limit with the GPU's default in nvidia-smi "
              "-q -d POWER"});
  }
  if (!record.settings.require_healthy) return false;
  const bool unknown = warn_of_unmeasured(record);
  return unknown || summary.unhealthy_samples > 0;
}

}  // namespace linkgain
