#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checks.hpp"
#include "linkgain/telemetry/pci.hpp"

namespace linkgain {
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

/// Events of one device and code.
struct Repeated {
  int times = 0;
  XidEvent last;
};

Finding judge(const Survey& survey, const Repeated& repeated) {
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
  if (events.value().empty()) {
    findings.push_back(check.ok("no Xid error in the kernel log"));
    return;
  }
  std::map<std::pair<std::string, int>, Repeated> repeated;
  for (const XidEvent& event : events.value()) {
    Repeated& entry = repeated[{event.pci_bus_id, event.code}];
    ++entry.times;
    entry.last = event;
  }
  for (const auto& [key, entry] : repeated) findings.push_back(judge(survey, entry));
}

}  // namespace linkgain
