#include "linkgain/hardware/throttling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace linkgain {

std::string held_back_by(const HealthSummary& health) {
  std::vector<std::string_view> events;
  for (const ClockEvent event : clock_events(health.clock_event_reasons.value_or(0))) {
    if (event != ClockEvent::power_cap) events.push_back(describe(event));
  }
  return fmt::format("{}", fmt::join(events, ", "));
}

std::string held_back_text(const HealthSummary& health) {
  if (health.unhealthy_samples == 0) return {};
  return fmt::format("{} of {} samples were taken while a GPU was held back ({})",
                     health.unhealthy_samples, health.samples, held_back_by(health));
}

}  // namespace linkgain
