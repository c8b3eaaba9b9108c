#include "linkgain/hardware/health.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace linkgain {
namespace {

template <typename T>
void keep_least(std::optional<T>& least, const std::optional<T>& value) {
  if (value) least = least ? std::min(*least, *value) : *value;
}

template <typename T>
void keep_most(std::optional<T>& most, const std::optional<T>& value) {
  if (value) most = most ? std::max(*most, *value) : *value;
}

void keep_reasons(std::optional<std::uint64_t>& all, const std::optional<std::uint64_t>& reasons) {
  if (reasons) all = all.value_or(0) | *reasons;
}

bool has(std::uint64_t reasons, ClockEvent event) {
  return (reasons & static_cast<std::uint64_t>(event)) != 0;
}

}  // namespace

std::vector<ClockEvent> clock_events(std::uint64_t reasons) {
  std::vector<ClockEvent> events;
  for (const ClockEvent event : kValues<ClockEvent>) {
    if (has(reasons, event)) events.push_back(event);
  }
  return events;
}

bool unhealthy(std::uint64_t reasons) {
  return std::ranges::any_of(kValues<ClockEvent>, [reasons](ClockEvent event) {
    return event != ClockEvent::power_cap && has(reasons, event);
  });
}

void add_sample(HealthSummary& summary, const std::vector<Health>& ranks) {
  std::optional<std::uint64_t> reasons;
  for (const Health& rank : ranks) {
    keep_least(summary.lowest_temperature_c, rank.temperature_c);
    keep_most(summary.highest_temperature_c, rank.temperature_c);
    keep_least(summary.lowest_power_w, rank.power_w);
    keep_most(summary.highest_power_w, rank.power_w);
    keep_least(summary.lowest_sm_clock_mhz, rank.sm_clock_mhz);
    keep_most(summary.highest_sm_clock_mhz, rank.sm_clock_mhz);
    keep_reasons(reasons, rank.clock_event_reasons);
  }
  if (!reasons) return;
  keep_reasons(summary.clock_event_reasons, reasons);
  ++summary.samples;
  summary.unhealthy_samples += unhealthy(*reasons) ? 1 : 0;
  summary.power_capped_samples += has(*reasons, ClockEvent::power_cap) ? 1 : 0;
}

void add_summary(HealthSummary& summary, const HealthSummary& other) {
  keep_least(summary.lowest_temperature_c, other.lowest_temperature_c);
  keep_most(summary.highest_temperature_c, other.highest_temperature_c);
  keep_least(summary.lowest_power_w, other.lowest_power_w);
  keep_most(summary.highest_power_w, other.highest_power_w);
  keep_least(summary.lowest_sm_clock_mhz, other.lowest_sm_clock_mhz);
  keep_most(summary.highest_sm_clock_mhz, other.highest_sm_clock_mhz);
  keep_reasons(summary.clock_event_reasons, other.clock_event_reasons);
  summary.samples += other.samples;
  summary.unhealthy_samples += other.unhealthy_samples;
  summary.power_capped_samples += other.power_capped_samples;
}

std::string throttled_by(const HealthSummary& health) {
  std::vector<std::string_view> events;
  for (const ClockEvent event : clock_events(health.clock_event_reasons.value_or(0))) {
    if (event != ClockEvent::power_cap) events.push_back(name_of(event));
  }
  return fmt::format("{}", fmt::join(events, ", "));
}

std::string throttling_text(const HealthSummary& health) {
  if (health.unhealthy_samples == 0) return {};
  return fmt::format("{} of {} samples were taken while a GPU was throttled ({})",
                     health.unhealthy_samples, health.samples, throttled_by(health));
}

}  // namespace linkgain
