#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/names.hpp"

namespace linkgain {

/// State of a rank's GPU at one sample; absent means not measured.
struct Health {
  std::optional<int> temperature_c;
  std::optional<double> power_w;
  std::optional<int> sm_clock_mhz;
  std::optional<std::uint64_t> clock_event_reasons;
  bool operator==(const Health&) const = default;
};

/// NVML's clock-event bits that say that something holds the GPU back (nvmlClocksEventReasons).
enum class ClockEvent : std::uint64_t {
  power_cap = 0x4,     ///< the power limit: expected under heavy work
  hw_slowdown = 0x8,   ///< heat, power brake or too much current
  sw_thermal = 0x20,   ///< the driver keeps temperatures down
  hw_thermal = 0x40,   ///< a temperature beyond the slowdown threshold
  power_brake = 0x80,  ///< a signal from outside: power cable or supply
};

template <>
inline constexpr auto kNames<ClockEvent> =
    names<ClockEvent>("clock event", {{ClockEvent::power_cap, "power cap"},
                                      {ClockEvent::hw_slowdown, "hardware slowdown"},
                                      {ClockEvent::sw_thermal, "thermal slowdown (software)"},
                                      {ClockEvent::hw_thermal, "thermal slowdown (hardware)"},
                                      {ClockEvent::power_brake, "power brake"}});

/// Returns the events of `reasons` in the order above; bits of no such event are left out.
std::vector<ClockEvent> clock_events(std::uint64_t reasons);
/// Returns whether a sample with these reasons must not be trusted as one of a healthy GPU: every
/// event but the power cap.
bool unhealthy(std::uint64_t reasons);

/// A variant's samples of one case, over all ranks. Absent where no rank measured it.
struct HealthSummary {
  std::optional<int> lowest_temperature_c;
  std::optional<int> highest_temperature_c;
  std::optional<double> lowest_power_w;
  std::optional<double> highest_power_w;
  std::optional<int> lowest_sm_clock_mhz;
  std::optional<int> highest_sm_clock_mhz;
  /// Those of all samples and ranks together; absent if none was measured.
  std::optional<std::uint64_t> clock_event_reasons;
  /// Samples in which some rank's GPU told its clock events; the counts below are parts of these.
  int samples = 0;
  /// Samples in which some rank's GPU was throttled by anything but its power limit.
  int unhealthy_samples = 0;
  /// Samples in which some rank's GPU was throttled by its power limit.
  int power_capped_samples = 0;
  bool operator==(const HealthSummary&) const = default;
};

/// Adds one sample, given by rank.
void add_sample(HealthSummary& summary, const std::vector<Health>& ranks);
/// Adds what another summary holds: of another case, or of another variant.
void add_summary(HealthSummary& summary, const HealthSummary& other);

/// Returns what throttled a GPU in these samples, power limits left out: "thermal slowdown
/// (hardware), power brake"; empty if nothing did.
std::string throttled_by(const HealthSummary& health);

/// Says "160 of 2400 samples were taken while a GPU was throttled (thermal slowdown (hardware))";
/// empty if none was.
std::string throttling_text(const HealthSummary& health);

/// What is to be done about it.
inline constexpr const char* kThrottlingAdvice =
    "fix cooling or power and measure again: linkgain doctor says what is wrong";

}  // namespace linkgain
