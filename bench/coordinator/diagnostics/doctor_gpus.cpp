#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <tuple>

#include "checks.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/telemetry/pci.hpp"

namespace linkgain {
namespace {

Finding check_driver(const Survey& survey) {
  const Check check(CheckGroup::gpus, "gpu-driver", kHost);
  if (!survey.gpus.empty()) {
    return check.ok(fmt::format("{}, driver {}", counted(std::ssize(survey.gpus), "GPU", "GPUs"),
                                survey.topology.driver.value_or("of unknown version")));
  }
  const std::string reason =
      survey.topology.no_gpus.empty() ? "the driver knows no GPU" : survey.topology.no_gpus;
  const std::int64_t on_bus = std::ssize(survey.host.nvidia_devices.value_or({}));
  if (on_bus == 0) return check.not_checkable("no GPU: " + reason);
  return check.problem(
      fmt::format("{} on PCIe, none usable: {}", counted(on_bus, "NVIDIA GPU", "NVIDIA GPUs"),
                  reason),
      "nothing can run on them",
      "install or load the driver (nvidia-smi must list them), after an update restart the "
      "machine; in a container, start it with --gpus all");
}

Finding check_present(const Survey& survey) {
  const Check check(CheckGroup::gpus, "gpus-present", kHost);
  const auto& on_bus = survey.host.nvidia_devices;
  if (!on_bus.measured()) return check.not_checkable(on_bus.reason());
  const std::size_t present = on_bus.value().size();
  const std::size_t known = survey.gpus.size();
  if (present < known) {
    return check.not_checkable(
        fmt::format("the kernel shows {} of the {} that the driver knows", present, known));
  }
  if (present == known) return check.ok(fmt::format("the driver knows all {} on PCIe", known));
  return check.warning(
      fmt::format("the driver knows {} of {} on PCIe", known, present),
      "the others failed to start, serve a virtual machine, or are kept from this container",
      "look for \"NVRM\" in the kernel log; in a container, start it with --gpus all");
}

Finding check_responds(const GpuSurvey& gpu) {
  const Check check(CheckGroup::gpus, "gpu-responds", subject_of(gpu));
  if (gpu.lost.empty()) {
    if (!gpu.name.empty()) return check.ok(gpu.name);
    if (gpu.temperature_c.measured()) return check.ok("yes; the driver does not say its model");
    return check.not_checkable(gpu.temperature_c.reason());
  }
  return check.problem(gpu.lost,
                       "the GPU fell off the bus: its work is lost, and jobs over all GPUs hang",
                       "restart the machine; if it comes again, check its power cables, its seat "
                       "in the slot or riser, and its cooling");
}

Finding check_memory(const GpuSurvey& gpu) {
  const Check check(CheckGroup::gpus, "memory-rows", subject_of(gpu));
  if (!gpu.memory_remap_pending.measured()) {
    return check.not_checkable(gpu.memory_remap_pending.reason());
  }
  if (!gpu.memory_remap_pending.value()) return check.ok("none waits to be replaced");
  return check.problem("broken rows wait to be replaced, or cannot be",
                       "further errors in them end programs or spoil data",
                       "stop all work and reset the GPU (nvidia-smi --gpu-reset); if this stays, "
                       "have the GPU replaced");
}

Finding check_compute_mode(const GpuSurvey& gpu) {
  const Check check(CheckGroup::gpus, "compute-mode", subject_of(gpu));
  if (!gpu.compute_mode.measured()) return check.not_checkable(gpu.compute_mode.reason());
  const std::string advice = fmt::format("nvidia-smi -i {} -c DEFAULT", gpu.index);
  const std::string why =
      "two jobs cannot hold the GPU at once: linkgain runs its variants one after the other, and "
      "drift no longer cancels out";
  switch (gpu.compute_mode.value()) {
    case ComputeModeName::shared:
      return check.ok("default: processes may share it");
    case ComputeModeName::exclusive_thread:
      return check.warning("exclusive to one thread", why, advice);
    case ComputeModeName::exclusive_process:
      return check.warning("exclusive to one process", why, advice);
    case ComputeModeName::prohibited:
      return check.problem("prohibited", "no program may use the GPU", advice);
  }
  return check.not_checkable("a mode that is not known here");
}

Finding check_persistence(const GpuSurvey& gpu) {
  const Check check(CheckGroup::gpus, "persistence", subject_of(gpu));
  if (!gpu.persistence_mode.measured()) return check.not_checkable(gpu.persistence_mode.reason());
  if (gpu.persistence_mode.value()) return check.ok("on");
  return check.warning("off",
                       "the driver unloads between programs: each start takes seconds longer, and "
                       "limits that were set are forgotten",
                       "run nvidia-persistenced, or nvidia-smi -pm 1");
}

Finding check_neighbours(const GpuSurvey& gpu) {
  const Check check(CheckGroup::gpus, "neighbours", subject_of(gpu));
  if (!gpu.busy_percent.measured()) return check.not_checkable(gpu.busy_percent.reason());
  const std::vector<GpuProcess> processes = gpu.processes.value_or({});
  const bool busy = gpu.busy_percent.value() >= kBusyPercent;
  const std::string value =
      fmt::format("{:.0f} % busy{}", gpu.busy_percent.value(),
                  !processes.empty() ? fmt::format(" ({})", describe(processes))
                  : busy             ? " (its processes are not shown here)"
                                     : "");
  if (busy) {
    return check.warning(value,
                         "others' work makes operations take longer, so that times, ratios "
                         "and intervals are not those of the link",
                         kNeighbourAdvice);
  }
  if (processes.empty()) return check.ok(value);
  return check.warning(value,
                       "another process holds memory and may work at any time: `linkgain "
                       "run --require-healthy` ends with 8",
                       kNeighbourAdvice);
}

/// Why it is not known of a GPU that answers whether CUDA sees it, or of all where none answers;
/// empty where it is known.
std::string visibility_unknown(const std::vector<TopologyGpu>& gpus) {
  bool answers = false;
  for (const TopologyGpu& gpu : gpus) {
    if (!gpu.no_answer.empty()) continue;
    answers = true;
    if (!gpu.cuda_index.measured() && gpu.cuda_index.why() != WhyMissing::hidden) {
      return gpu.cuda_index.reason();
    }
  }
  return answers ? std::string() : gpus.front().no_answer;
}

Finding check_visible(const Survey& survey) {
  const Check check(CheckGroup::gpus, "cuda-visible", kHost);
  const auto& gpus = survey.topology.gpus;
  const auto visible =
      std::ranges::count_if(gpus, [](const TopologyGpu& gpu) { return gpu.cuda_index.measured(); });
  if (const std::string unknown = visibility_unknown(gpus); !unknown.empty()) {
    return check.not_checkable(unknown);
  }
  const std::string setting =
      survey.visible_devices ? "CUDA_VISIBLE_DEVICES=" + *survey.visible_devices : "";
  const std::string value = fmt::format("{} of {} GPUs{}", visible, gpus.size(),
                                        setting.empty() ? "" : fmt::format(" with {}", setting));
  if (visible == 0) {
    return check.problem(value, "CUDA sees no GPU", "unset CUDA_VISIBLE_DEVICES or correct it");
  }
  if (visible == 1) {
    return check.warning(value, "a link has two ends: nothing can be measured with one GPU",
                         setting.empty() ? "run where there are two GPUs"
                                         : "unset CUDA_VISIBLE_DEVICES or add GPUs to it");
  }
  if (visible == std::ssize(gpus)) return check.ok(value);
  return check.warning(value,
                       "the others are left out of every run; an unknown entry hides all "
                       "that come after it",
                       "unset CUDA_VISIBLE_DEVICES unless it is meant");
}

Finding check_order(const Survey& survey) {
  const Check check(CheckGroup::gpus, "cuda-order", kHost);
  int last = -1;
  for (const TopologyGpu& gpu : survey.topology.gpus) {
    if (!gpu.cuda_index.measured()) continue;
    if (gpu.cuda_index.value() < last) {
      return check.warning(
          fmt::format("CUDA's device {} is GPU{}", gpu.cuda_index.value(), gpu.index),
          "CUDA and nvidia-smi number the GPUs differently: --gpus and CUDA_VISIBLE_DEVICES may "
          "name others than you think, such as a pair without a bridge",
          "set CUDA_DEVICE_ORDER=PCI_BUS_ID, and list CUDA_VISIBLE_DEVICES in ascending order");
    }
    last = gpu.cuda_index.value();
  }
  if (last < 0) return check.not_checkable("it is not known which GPUs CUDA sees");
  return check.ok("CUDA numbers the GPUs as nvidia-smi does");
}

/// Of --load, where it did not come about.
void check_load(const Survey& survey, Findings& findings) {
  if (survey.load_failure.empty()) return;
  findings.push_back(Check(CheckGroup::gpus, "load", kHost)
                         .not_checkable("nothing was loaded: " + survey.load_failure,
                                        survey.gpus.empty() ? "" : "linkgain-bench --load 5"));
}

}  // namespace

void check_gpus(const Survey& survey, Findings& findings) {
  findings.push_back(check_driver(survey));
  check_load(survey, findings);
  if (survey.gpus.empty()) return;
  findings.push_back(check_present(survey));
  for (const GpuSurvey& gpu : survey.gpus) findings.push_back(check_responds(gpu));
  for (const GpuSurvey& gpu : reachable(survey)) {
    findings.push_back(check_memory(gpu));
    findings.push_back(check_compute_mode(gpu));
    findings.push_back(check_persistence(gpu));
    findings.push_back(check_neighbours(gpu));
  }
  if (survey.topology.gpus.empty()) return;
  findings.push_back(check_visible(survey));
  findings.push_back(check_order(survey));
}

namespace {

/// The GPU's number where the address is one's; "0000:41:00" without a function as the driver
/// writes it.
std::string subject_of(const Survey& survey, const XidEvent& event) {
  if (event.from_switch) return "NVSwitch " + event.pci_bus_id;
  for (const GpuSurvey& gpu : survey.gpus) {
    const std::string name = sysfs_pci_name(gpu.pci_bus_id);
    if (!name.empty() && name.starts_with(event.pci_bus_id)) return subject_of(gpu);
  }
  return "PCI " + event.pci_bus_id;
}

/// Events of one device that mean the same.
struct Repeated {
  int times = 0;
  XidEvent last;
};

Finding judge_xid(const Survey& survey, const Repeated& repeated) {
  const XidEvent& event = repeated.last;
  const XidMeaning meaning = meaning_of(event);
  const Check check(CheckGroup::gpus, "xid", subject_of(survey, event));
  const std::string value =
      fmt::format("{} {}: {}; {}, last {:.0f} s after the machine's start",
                  event.from_switch ? "SXid" : "Xid", event.code, meaning.what,
                  repeated.times == 1 ? "once" : fmt::format("{} times", repeated.times),
                  event.seconds_after_boot);
  const std::string advice(meaning.advice);
  switch (meaning.severity) {
    case XidSeverity::application:
      return check.warning(value, "most often a program's own fault, seldom the GPU's", advice);
    case XidSeverity::degraded:
      return check.warning(value, "the device reported a fault and went on", advice);
    case XidSeverity::broken:
      return check.problem(value, "the device reported a fault that work does not survive", advice);
  }
  return check.not_checkable("a severity that is not known here");
}

}  // namespace

void check_kernel_log(const Survey& survey, Findings& findings) {
  const Check check(CheckGroup::gpus, "xid", "host");
  const auto& events = survey.host.xid_events;
  if (!events.measured()) {
    findings.push_back(check.not_checkable(events.reason(), "dmesg | grep -i xid (as root)"));
    return;
  }
  std::map<std::tuple<std::string, int, std::string>, Repeated> repeated;
  for (const XidEvent& event : events.value()) {
    if (event.is_past) continue;
    Repeated& entry = repeated[{event.pci_bus_id, event.code, meaning_of(event).what}];
    ++entry.times;
    entry.last = event;
  }
  if (repeated.empty()) {
    findings.push_back(check.ok(
        events.value().empty() ? "no Xid error in the kernel log"
                               : fmt::format("no Xid error since the driver was loaded, {} before",
                                             events.value().size())));
  }
  for (const auto& [key, entry] : repeated) findings.push_back(judge_xid(survey, entry));
}

namespace {

std::string cables() {
  return "give each 8-pin socket of the card a cable of its own (150 W each, not two plugs of one "
         "cable); seat 12-pin plugs fully; see that the power supply has watts to spare";
}

Finding check_limit(const GpuSurvey& gpu) {
  const Check check(CheckGroup::power, "power-limit", subject_of(gpu));
  if (!gpu.power.measured()) return check.not_checkable(gpu.power.reason());
  const PowerState& power = gpu.power.value();
  if (!power.limit_w) return check.not_checkable("the GPU does not report its power limit");
  const std::optional<double> usual =
      power.default_limit_w ? power.default_limit_w : power.most_limit_w;
  if (!usual) return check.not_checkable("the GPU does not report its default power limit");
  const std::string value = fmt::format("{:.0f} W of {:.0f} W {}", *power.limit_w, *usual,
                                        power.default_limit_w ? "default" : "at most");
  constexpr double kTolerance = 1.0;
  if (*power.limit_w >= *usual - kTolerance) return check.ok(value);
  return check.warning(
      value, "the GPU clocks down under heavy work to stay below it",
      fmt::format("unless it is meant: nvidia-smi -i {} -pl {:.0f} (as root)", gpu.index, *usual));
}

Finding check_brake(const GpuSurvey& gpu) {
  const Check check(CheckGroup::power, "power-brake", subject_of(gpu));
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
  const Check check(CheckGroup::power, "power-cap", subject_of(gpu));
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

namespace {

/// Up to kGood a GPU at work is well cooled, from kHot on it is hot. Where the GPU does not report
/// its own threshold, throttling is to be expected from kThrottling on and sure at kTooHot.
constexpr int kGood = 75;
constexpr int kHot = 80;
constexpr int kThrottling = 84;
constexpr int kTooHot = 90;
constexpr int kNear = 5;  ///< degrees to the threshold

const char* kCoolingAdvice =
    "clean fans and filters, leave space between the cards, give the case or rack more air, lower "
    "the room's temperature or the power limit";

Finding check_temperature(const GpuSurvey& gpu) {
  const Check check(CheckGroup::cooling, "temperature", subject_of(gpu));
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
                         kCoolingAdvice);
  }
  if (now >= kHot || now >= slowdown - kNear) {
    const char* why = now >= kThrottling
                          ? "GPUs begin to slow down at 84 to 90 °C, and wear faster"
                          : "80 °C and more is hot: little is left before the GPU slows down at 84 "
                            "to 90 °C, and it wears faster";
    return check.warning(value, why, kCoolingAdvice);
  }
  if (now > kGood) value += "; up to 75 °C is better";
  return check.ok(value);
}

Finding check_slowdown(const GpuSurvey& gpu) {
  const Check check(CheckGroup::cooling, "thermal-slowdown", subject_of(gpu));
  const Reading<std::uint64_t> events = all_clock_events(gpu);
  if (!events.measured()) return check.not_checkable(events.reason());
  const std::string when = when_events(gpu);
  const char* why = "the GPU lowers its clocks because it is too hot";
  if (events.value() & static_cast<std::uint64_t>(ClockEvent::hw_thermal)) {
    return check.problem("slowed down by the hardware " + when, why, kCoolingAdvice);
  }
  if (events.value() & static_cast<std::uint64_t>(ClockEvent::sw_thermal)) {
    return check.problem("slowed down by the driver " + when, why, kCoolingAdvice);
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
