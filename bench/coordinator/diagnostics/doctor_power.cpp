#include <fmt/format.h>

#include "checks.hpp"

namespace linkgain {
namespace {

constexpr CheckGroup kGroup = CheckGroup::power;

std::string cables() {
  return "give each 8-pin socket of the card a cable of its own from the power supply (150 W each; "
         "no two plugs at the end of one cable), seat 12-pin plugs fully, and see that the supply "
         "has watts to spare and a stable voltage";
}

Finding check_limit(const GpuSurvey& gpu) {
  const Check check(kGroup, "power-limit", subject_of(gpu));
  if (!gpu.power.measured()) return check.not_checkable(gpu.power.reason());
  const PowerState& power = gpu.power.value();
  if (!power.limit_w) return check.not_checkable("the GPU does not tell its power limit");
  const std::optional<double> usual =
      power.default_limit_w ? power.default_limit_w : power.most_limit_w;
  if (!usual) return check.not_checkable("the GPU does not tell its default power limit");
  const std::string value = fmt::format("{:.0f} W of {:.0f} W {}", *power.limit_w, *usual,
                                        power.default_limit_w ? "default" : "at most");
  constexpr double kTolerance = 1.0;
  if (*power.limit_w >= *usual - kTolerance) return check.ok(value);
  return check.warning(
      value, "the GPU clocks down under heavy work to stay below it",
      fmt::format("unless it is meant: nvidia-smi -i {} -pl {:.0f} (as root)", gpu.index, *usual));
}

Finding check_brake(const GpuSurvey& gpu) {
  const Check check(kGroup, "power-brake", subject_of(gpu));
  const Reading<std::uint64_t> events = all_clock_events(gpu);
  if (!events.measured()) return check.not_checkable(events.reason());
  if (events.value() & static_cast<std::uint64_t>(ClockEvent::power_brake)) {
    return check.problem(
        "slowed down by the power brake " + when_events(gpu),
        "the power supply or the machine tells the GPU to halve its clocks or worse", cables());
  }
  const auto heat = static_cast<std::uint64_t>(ClockEvent::hw_thermal);
  const auto slowdown = static_cast<std::uint64_t>(ClockEvent::hw_slowdown);
  if ((events.value() & slowdown) && !(events.value() & heat)) {
    return check.problem("slowed down by the hardware " + when_events(gpu),
                         "the GPU draws more current than it is given, or is too hot: its clocks "
                         "are halved or worse",
                         cables());
  }
  return check.ok("none " + when_events(gpu));
}

/// ", 150 W drawn at most": while host copies ran, else now; empty where it was not measured.
std::string draw_of(const GpuSurvey& gpu) {
  if (gpu.load.measured()) {
    const Reading<double>& highest = gpu.load.value().highest_power_w;
    return highest.measured() ? fmt::format(", {:.0f} W drawn at most", highest.value()) : "";
  }
  return gpu.power.measured() ? fmt::format(", {:.0f} W drawn", gpu.power.value().draw_w) : "";
}

/// "150 W drawn at most of 72 W allowed" where that is far above the limit in force, which short
/// peaks may exceed; empty elsewhere.
std::string far_above_limit(const GpuSurvey& gpu) {
  constexpr double kPeaks = 1.2;
  if (!gpu.power.measured() || !gpu.power.value().limit_w) return {};
  const double limit = *gpu.power.value().limit_w;
  const bool under_load = gpu.load.measured() && gpu.load.value().highest_power_w.measured();
  const double draw =
      under_load ? gpu.load.value().highest_power_w.value() : gpu.power.value().draw_w;
  if (draw <= kPeaks * limit) return {};
  return fmt::format("{:.0f} W drawn{} of {:.0f} W allowed", draw, under_load ? " at most" : "",
                     limit);
}

Finding check_cap(const GpuSurvey& gpu) {
  const Check check(kGroup, "power-cap", subject_of(gpu));
  const Reading<std::uint64_t> events = all_clock_events(gpu);
  if (!events.measured()) return check.not_checkable(events.reason());
  if (const std::string draw = far_above_limit(gpu); !draw.empty()) {
    return check.warning(draw,
                         "the GPU does not keep its power limit: cables and supply carry more than "
                         "they were chosen for, or what the GPU says is wrong",
                         fmt::format("see whether it stays (nvidia-smi -i {} -q -d POWER); if it "
                                     "does, look at cables and supply, and update the driver",
                                     gpu.index));
  }
  const std::string draw = draw_of(gpu);
  if (!(events.value() & static_cast<std::uint64_t>(ClockEvent::power_cap))) {
    return check.ok(fmt::format("not reached {}{}", when_events(gpu), draw));
  }
  if (gpu.load.measured()) return check.ok(fmt::format("reached {}{}", when_events(gpu), draw));
  if (!(events.value() & kIdle)) {
    return check.ok(fmt::format("reached now: expected under heavy work{}", draw));
  }
  return check.warning("reached while idle" + draw, "an idle GPU should be far below its limit",
                       "look at its power limit and its cables");
}

}  // namespace

void check_power(const Survey& survey, Findings& findings) {
  for (const GpuSurvey& gpu : reachable(survey)) {
    findings.push_back(check_limit(gpu));
    findings.push_back(check_brake(gpu));
    findings.push_back(check_cap(gpu));
  }
}

}  // namespace linkgain
