#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <tuple>

#include "checks.hpp"
#include "linkgain/hardware/pci.hpp"

namespace linkgain {
namespace {

Finding check_driver(const Survey& survey) {
  const Check check("gpu-driver");
  if (!survey.gpus.empty()) {
    return check.ok(counted_of("gpus", std::ssize(survey.gpus), "GPU", "GPUs") + ", driver " +
                    survey.topology.driver.value_or("of unknown version"));
  }
  const std::string reason =
      survey.topology.no_gpus.empty() ? "the driver knows no GPU" : survey.topology.no_gpus;
  const std::int64_t on_bus = std::ssize(survey.host.nvidia_devices.value_or({}));
  Finding finding = on_bus == 0
                        ? check.not_checkable("no GPU: " + reason)
                        : check.found(fault::driver_unusable,
                                      counted_of("on_pcie", on_bus, "NVIDIA GPU", "NVIDIA GPUs") +
                                          " on PCIe, none usable: " + reason);
  const std::string& advice = survey.topology.no_gpus_advice;
  if (!advice.empty()) finding.advice = advice;
  return finding;
}

Finding check_present(const Survey& survey) {
  const Check check("gpus-present");
  const auto& on_bus = survey.host.nvidia_devices;
  if (!on_bus.measured()) return check.not_checkable(on_bus.reason());
  const FindingValue present = number("on_pcie", on_bus.value().size());
  const FindingValue known = number("known", survey.gpus.size());
  if (on_bus.value().size() < survey.gpus.size()) {
    return check.not_checkable("the kernel shows " + present + " of the " + known +
                               " that the driver knows");
  }
  if (present.text() == known.text()) {
    return check.ok("the driver knows all " + known + " on PCIe");
  }
  return check.found(fault::gpus_unknown,
                     "the driver knows " + known + " of " + present + " on PCIe");
}

Finding check_responds(const GpuSurvey& gpu) {
  const Check check("gpu-responds", subject_of(gpu));
  if (!gpu.lost.empty()) return check.found(fault::gpu_lost, gpu.lost);
  if (!gpu.name.empty()) return check.ok(gpu.name);
  if (gpu.temperature_c.measured()) return check.ok("yes; the driver does not say its model");
  return check.not_checkable(gpu.temperature_c.reason());
}

Finding check_memory(const GpuSurvey& gpu) {
  const Check check("memory-rows", subject_of(gpu));
  const Reading<bool>& pending = gpu.memory_remap_pending;
  if (!pending.measured()) return check.not_checkable(pending.reason());
  if (!pending.value()) return check.ok("none waits to be replaced");
  return check.found(fault::rows_broken, "broken rows wait to be replaced, or cannot be");
}

Finding check_compute_mode(const GpuSurvey& gpu) {
  const Check check("compute-mode", subject_of(gpu));
  if (!gpu.compute_mode.measured()) return check.not_checkable(gpu.compute_mode.reason());
  const Check::Fill fill{{"gpu", std::to_string(gpu.index)}};
  switch (gpu.compute_mode.value()) {
    case ComputeModeName::shared:
      return check.ok("default: processes may share it");
    case ComputeModeName::exclusive_thread:
      return check.found(fault::mode_exclusive, "exclusive to one thread", fill);
    case ComputeModeName::exclusive_process:
      return check.found(fault::mode_exclusive, "exclusive to one process", fill);
    case ComputeModeName::prohibited:
      return check.found(fault::mode_prohibited, "prohibited", fill);
  }
  return check.not_checkable("a mode that is not known here");
}

Finding check_persistence(const GpuSurvey& gpu) {
  const Check check("persistence", subject_of(gpu));
  if (!gpu.persistence_mode.measured()) return check.not_checkable(gpu.persistence_mode.reason());
  return gpu.persistence_mode.value() ? check.ok("on") : check.found(fault::persistence_off, "off");
}

Finding check_neighbours(const GpuSurvey& gpu) {
  const Check check("neighbours", subject_of(gpu));
  if (!gpu.busy_percent.measured()) return check.not_checkable(gpu.busy_percent.reason());
  const std::vector<GpuProcess> processes = gpu.processes.value_or({});
  const bool busy = gpu.busy_percent.value() >= kBusyPercent;
  const FindingValue value = quantity("busy", Unit::percent, gpu.busy_percent.value()) + " busy" +
                             (!processes.empty() ? fmt::format(" ({})", processes_text(processes))
                              : busy             ? " (its processes are not shown here)"
                                                 : "");
  if (busy) return check.found(fault::gpu_busy, value);
  return processes.empty() ? check.ok(value) : check.found(fault::gpu_held, value);
}

/// Says why it is not known of a GPU that answers whether CUDA sees it, or of all where none
/// answers; nothing where it is known.
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
  const Check check("cuda-visible");
  const auto& gpus = survey.topology.gpus;
  const auto visible =
      std::ranges::count_if(gpus, [](const TopologyGpu& gpu) { return gpu.cuda_index.measured(); });
  if (const std::string unknown = visibility_unknown(gpus); !unknown.empty()) {
    return check.not_checkable(unknown);
  }
  const auto& setting = survey.visible_devices;
  const FindingValue value = number("visible", visible) + " of " + number("gpus", gpus.size()) +
                             " GPUs" + (setting ? " with CUDA_VISIBLE_DEVICES=" + *setting : "");
  if (visible == 0) {
    const Reading<int>& index = gpus.front().cuda_index;
    return check.found(fault::none_visible,
                       index == hidden_from_cuda() ? value : value + "; " + index.reason());
  }
  if (visible == 1) {
    return check.found(fault::one_visible, value,
                       {{"add", setting ? "unset CUDA_VISIBLE_DEVICES or add GPUs to it"
                                        : "run where there are two GPUs"}});
  }
  return visible == std::ssize(gpus) ? check.ok(value) : check.found(fault::some_hidden, value);
}

Finding check_order(const Survey& survey) {
  const Check check("cuda-order");
  int last = -1;
  for (const TopologyGpu& gpu : survey.topology.gpus) {
    if (!gpu.cuda_index.measured()) continue;
    if (gpu.cuda_index.value() < last) {
      return check.found(fault::order_differs, fmt::format("CUDA's device {} is GPU{}",
                                                           gpu.cuda_index.value(), gpu.index));
    }
    last = gpu.cuda_index.value();
  }
  if (last < 0) return check.not_checkable("it is not known which GPUs CUDA sees");
  return check.ok("CUDA numbers the GPUs as nvidia-smi does");
}

/// Says where `--load` did not come about.
void check_load(const Survey& survey, Findings& findings) {
  if (survey.load_failure.empty()) return;
  const Check check("load");
  const FindingValue reason = "nothing was loaded: " + survey.load_failure;
  findings.push_back(survey.gpus.empty() ? check.not_checkable(reason)
                                         : check.found(fault::load_failed, reason));
}

/// Names the GPU whose address it is; the driver writes it without a function, "0000:41:00".
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
  const std::string code = fmt::format("{} {}", event.from_switch ? "SXid" : "Xid", event.code);
  const FindingNumber times{code, Unit::count, static_cast<double>(repeated.times)};
  const FindingValue value =
      code + ": " + meaning.what + "; " +
      FindingValue(times, repeated.times == 1 ? "once" : fmt::format("{} times", repeated.times)) +
      ", last " + quantity(code + " last", Unit::seconds, event.seconds_after_boot) +
      " after the machine's start";
  const Fault& fault = meaning.severity == XidSeverity::application ? fault::xid_application
                       : meaning.severity == XidSeverity::degraded  ? fault::xid_degraded
                                                                    : fault::xid_broken;
  return Check("xid", subject_of(survey, event))
      .found(fault, value, {{"advice", std::string(meaning.advice)}});
}

bool has(const Reading<std::uint64_t>& events, ClockEvent event) {
  return (events.value() & static_cast<std::uint64_t>(event)) != 0;
}

Finding check_limit(const GpuSurvey& gpu) {
  const Check check("power-limit", subject_of(gpu));
  if (!gpu.power.measured()) return check.not_checkable(gpu.power.reason());
  const PowerState& power = gpu.power.value();
  if (!power.limit_w) return check.not_checkable("the GPU does not report its power limit");
  const std::optional<double> usual =
      power.default_limit_w ? power.default_limit_w : power.most_limit_w;
  if (!usual) return check.not_checkable("the GPU does not report its default power limit");
  const char* const what = power.default_limit_w ? "default" : "most";
  const FindingValue value = quantity("limit", Unit::watts, *power.limit_w) + " of " +
                             quantity(what, Unit::watts, *usual) +
                             (power.default_limit_w ? " default" : " at most");
  constexpr double kTolerance = 1.0;
  if (*power.limit_w >= *usual - kTolerance) return check.ok(value);
  return check.found(
      fault::limit_lowered, value,
      {{"gpu", std::to_string(gpu.index)}, {"watts", fmt::format("{:.0f}", *usual)}});
}

Finding check_brake(const GpuSurvey& gpu) {
  const Check check("power-brake", subject_of(gpu));
  const Reading<std::uint64_t> events = all_clock_events(gpu);
  if (!events.measured()) return check.not_checkable(events.reason());
  if (has(events, ClockEvent::power_brake)) {
    return check.found(fault::power_brake, "slowed down by the power brake " + when_events(gpu));
  }
  if (has(events, ClockEvent::hw_slowdown) && !has(events, ClockEvent::hw_thermal)) {
    return check.found(fault::current_slowdown, "slowed down by the hardware " + when_events(gpu));
  }
  return check.ok("none " + when_events(gpu));
}

/// Tells whether the draw was watched while host copies ran; it is the most then.
bool is_drawn_at_work(const GpuSurvey& gpu) {
  return gpu.load.measured() && gpu.load.value().highest_power_w.measured();
}

Reading<double> draw_of(const GpuSurvey& gpu) {
  if (is_drawn_at_work(gpu)) return gpu.load.value().highest_power_w;
  if (!gpu.power.measured()) return gpu.power.missing();
  return gpu.power.value().draw_w;
}

/// Tells whether that is far above the limit in force, which short peaks may exceed.
bool is_far_above_limit(const GpuSurvey& gpu, double draw_w) {
  constexpr double kPeaks = 1.2;
  return gpu.power.measured() && gpu.power.value().limit_w &&
         draw_w > kPeaks * *gpu.power.value().limit_w;
}

Finding check_cap(const GpuSurvey& gpu) {
  const Check check("power-cap", subject_of(gpu));
  const Reading<std::uint64_t> events = all_clock_events(gpu);
  if (!events.measured()) return check.not_checkable(events.reason());
  const bool loaded = gpu.load.measured();
  const Reading<double> draw_w = draw_of(gpu);
  FindingValue draw;
  if (draw_w.measured()) {
    draw = quantity("draw", Unit::watts, draw_w.value()) + " drawn" +
           (is_drawn_at_work(gpu) ? " at most" : "");
    if (is_far_above_limit(gpu, draw_w.value())) {
      return check.found(
          fault::limit_exceeded,
          draw + " of " + quantity("limit", Unit::watts, *gpu.power.value().limit_w) + " allowed",
          {{"gpu", std::to_string(gpu.index)}});
    }
    draw = ", " + draw;
  }
  if (!has(events, ClockEvent::power_cap)) {
    return check.ok("not reached " + when_events(gpu) + draw);
  }
  if (loaded) return check.ok("reached " + when_events(gpu) + draw);
  if (!(events.value() & kIdle)) {
    return check.ok("reached now: expected under heavy work" + draw);
  }
  return check.found(fault::capped_idle, "reached while idle" + draw);
}

/// Up to kGood a GPU at work is well cooled, from kHot on it is hot. Where the GPU does not report
/// its own threshold, throttling is to be expected from kThrottling on and sure at kTooHot.
constexpr int kGood = 75;
constexpr int kHot = 80;
constexpr int kThrottling = 84;
constexpr int kTooHot = 90;
constexpr int kNear = 5;  ///< degrees to the threshold

Finding check_temperature(const GpuSurvey& gpu) {
  const Check check("temperature", subject_of(gpu));
  if (!gpu.temperature_c.measured()) return check.not_checkable(gpu.temperature_c.reason());
  Reading<int> copying;
  if (gpu.load.measured()) copying = gpu.load.value().highest_temperature_c;
  const int now = std::max(gpu.temperature_c.value(), copying.value_or(-273));
  const auto& limit = gpu.slowdown_temperature_c;
  const int slowdown = limit.value_or(kTooHot);
  FindingValue value = quantity("now", Unit::celsius, now);
  if (copying.measured()) {
    value += fmt::format(" {}", kWhileCopying);
  } else if (gpu.clock_events.value_or(0) & kIdle) {
    value += " idle";
  }
  if (limit.measured()) {
    const FindingValue at = quantity("slowdown", Unit::celsius, slowdown);
    const FindingNumber margin{"below slowdown", Unit::celsius,
                               static_cast<double>(slowdown - now)};
    value += now < slowdown ? ", " + FindingValue(margin, std::to_string(slowdown - now)) +
                                  " below slowdown at " + at
                            : ", slowdown starts at " + at;
  }
  if (now >= slowdown) return check.found(fault::too_hot, value);
  if (now >= kHot || now >= slowdown - kNear) {
    return check.found(now >= kThrottling ? fault::hot_and_throttling : fault::hot, value);
  }
  return check.ok(now > kGood
                      ? value + "; up to " + quantity("good", Unit::celsius, kGood) + " is better"
                      : value);
}

Finding check_slowdown(const GpuSurvey& gpu) {
  const Check check("thermal-slowdown", subject_of(gpu));
  const Reading<std::uint64_t> events = all_clock_events(gpu);
  if (!events.measured()) return check.not_checkable(events.reason());
  const char* const by = has(events, ClockEvent::hw_thermal)   ? "the hardware "
                         : has(events, ClockEvent::sw_thermal) ? "the driver "
                                                               : nullptr;
  const std::string when = when_events(gpu);
  if (by == nullptr) return check.ok("none " + when);
  return check.found(fault::thermal_slowdown, std::string("slowed down by ") + by + when);
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

void check_kernel_log(const Survey& survey, Findings& findings) {
  const Check check("xid");
  const auto& events = survey.host.xid_events;
  if (!events.measured()) {
    findings.push_back(check.found(fault::xid_unreadable, events.reason()));
    return;
  }
  std::map<std::tuple<std::string, int, std::string>, Repeated> repeated;
  for (const XidEvent& event : events.value()) {
    if (event.is_past) continue;
    Repeated& entry = repeated[{event.pci_bus_id, event.code, meaning_of(event).what}];
    ++entry.times;
    entry.last = event;
  }
  if (repeated.empty() && events.value().empty()) {
    findings.push_back(check.ok("no Xid error in the kernel log"));
  } else if (repeated.empty()) {
    findings.push_back(check.ok("no Xid error since the driver was loaded, " +
                                number("before", events.value().size()) + " before"));
  }
  for (const auto& [key, entry] : repeated) findings.push_back(judge_xid(survey, entry));
}

void check_power(const Survey& survey, Findings& findings) {
  for (const GpuSurvey& gpu : reachable(survey)) {
    findings.push_back(check_limit(gpu));
    findings.push_back(check_brake(gpu));
    findings.push_back(check_cap(gpu));
  }
}

void check_cooling(const Survey& survey, Findings& findings) {
  for (const GpuSurvey& gpu : reachable(survey)) {
    findings.push_back(check_temperature(gpu));
    findings.push_back(check_slowdown(gpu));
  }
}

}  // namespace linkgain
