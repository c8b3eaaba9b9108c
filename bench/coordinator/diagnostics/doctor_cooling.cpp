#include <fmt/format.h>

#include <algorithm>

#include "checks.hpp"

namespace linkgain {
namespace {

constexpr CheckGroup kGroup = CheckGroup::cooling;
/// Up to kGood a GPU at work is well cooled, from kHot on it is hot. Where the GPU does not tell
/// its own threshold, throttling is to be expected from kThrottling on and sure at kTooHot.
constexpr int kGood = 75;
constexpr int kHot = 80;
constexpr int kThrottling = 84;
constexpr int kTooHot = 90;
constexpr int kNear = 5;  ///< degrees to the threshold

const char* kAdvice =
    "clean fans and filters, leave space between the cards, give the case or rack more air, lower "
    "the room's temperature or the power limit";

Finding check_temperature(const GpuSurvey& gpu) {
  const Check check(kGroup, "temperature", subject_of(gpu));
  if (!gpu.temperature_c.measured()) return check.not_checkable(gpu.temperature_c.reason());
  Reading<int> copying;
  if (gpu.load.measured()) copying = gpu.load.value().highest_temperature_c;
  const int now = std::max(gpu.temperature_c.value(), copying.value_or(-273));
  const auto& limit = gpu.slowdown_temperature_c;
  const int slowdown = limit.value_or(kTooHot);
  std::string value = fmt::format("{} °C", now);
  if (copying.measured()) {
    value += fmt::format(" {}", kWhileCopying);
  } else if (gpu.clock_events.value_or(0) & kIdle) {
    value += " idle";
  }
  if (limit.measured()) {
    value += now < slowdown ? fmt::format(", {} below slowdown at {} °C", slowdown - now, slowdown)
                            : fmt::format(", slowdown starts at {} °C", slowdown);
  }
  if (now >= slowdown) {
    return check.problem(value,
                         "the GPU slows down so as not to burn, and stops when that is not "
                         "enough",
                         kAdvice);
  }
  if (now >= kHot || now >= slowdown - kNear) {
    const char* why = now >= kThrottling
                          ? "GPUs begin to slow down at 84 to 90 °C, and wear faster"
                          : "80 °C and more is hot: little is left before the GPU slows down at 84 "
                            "to 90 °C, and it wears faster";
    return check.warning(value, why, kAdvice);
  }
  if (now > kGood) value += "; up to 75 °C is better";
  return check.ok(value);
}

Finding check_slowdown(const GpuSurvey& gpu) {
  const Check check(kGroup, "thermal-slowdown", subject_of(gpu));
  const Reading<std::uint64_t> events = all_clock_events(gpu);
  if (!events.measured()) return check.not_checkable(events.reason());
  const std::string when = when_events(gpu);
  const char* why = "the GPU lowers its clocks because it is too hot";
  if (events.value() & static_cast<std::uint64_t>(ClockEvent::hw_thermal)) {
    return check.problem("slowed down by the hardware " + when, why, kAdvice);
  }
  if (events.value() & static_cast<std::uint64_t>(ClockEvent::sw_thermal)) {
    return check.problem("slowed down by the driver " + when, why, kAdvice);
  }
  return check.ok("none " + when);
}

}  // namespace

void check_cooling(const Survey& survey, Findings& findings) {
  for (const GpuSurvey& gpu : reachable(survey)) {
    findings.push_back(check_temperature(gpu));
    findings.push_back(check_slowdown(gpu));
  }
}

}  // namespace linkgain
