#include <fmt/format.h>

#include <algorithm>

#include "checks.hpp"

namespace linkgain {
namespace {

/// NCCL's buffers of one channel in one rank where messages go through shared memory: 4 MiB for
/// protocol Simple and those of LL and LL128, as its message "unable to allocate shared memory" has
/// it; and the channels that it uses so at most without being told.
constexpr std::int64_t kChannelBytes = 9637888;
constexpr int kChannels = 16;

FindingValue bytes(std::string name, std::int64_t bytes) {
  return quantity(std::move(name), Unit::bytes, static_cast<double>(bytes));
}

Finding check_shared_memory(const Survey& survey) {
  const Check check("shared-memory");
  const auto& shm = survey.host.shared_memory;
  if (!shm.measured()) return check.not_checkable(shm.reason());
  const std::int64_t ranks = std::max(2, visible_gpus(survey));
  const std::int64_t free = shm.value().free_bytes;
  const FindingValue value =
      bytes("free", free) + " free of " + bytes("size", shm.value().bytes) + " in /dev/shm";
  const auto found = [&](const Fault& fault, std::int64_t needed) {
    return check.found(fault, value,
                       {{"needed", bytes("needed", needed).text()},
                        {"ranks", std::to_string(ranks)},
                        {"channels", std::to_string(kChannels)}});
  };
  const std::int64_t needed = ranks * kChannelBytes;
  if (free < needed) return found(fault::shm_too_small, needed);
  if (free < needed * kChannels) return found(fault::shm_small, needed * kChannels);
  return check.ok(value);
}

Finding check_locked_memory(const Survey& survey) {
  const Check check("locked-memory");
  const auto& limit = survey.host.locked_memory;
  if (!limit.measured()) return check.not_checkable(limit.reason());
  if (!limit.value().bytes) return check.ok("unlimited");
  const FindingValue value = bytes("limit", *limit.value().bytes);
  if (survey.topology.nics.empty()) {
    return check.ok(value + ": matters to RDMA network adapters, and there is none");
  }
  constexpr std::int64_t kEnough = std::int64_t{1} << 30;
  return *limit.value().bytes >= kEnough ? check.ok(value)
                                         : check.found(fault::lock_limited, value);
}

Finding check_cores(const Survey& survey) {
  const Check check("cores");
  const HostSurvey& host = survey.host;
  const int ranks = std::max(2, visible_gpus(survey));
  double usable = host.processors;
  FindingValue value = counted_of("processors", host.processors, "processor", "processors");
  if (host.processor_quota.measured() && host.processor_quota.value() < usable) {
    usable = host.processor_quota.value();
    value = FindingValue({"quota", Unit::count, usable}, fmt::format("{:.3g}", usable)) + " of " +
            number("processors", host.processors) + " processors' time (control group)";
  }
  value += " for " + number("ranks", ranks) + " ranks";
  if (usable < ranks) return check.found(fault::cores_too_few, value);
  return usable < 2.0 * ranks ? check.found(fault::cores_few, value) : check.ok(value);
}

Finding check_process_ids(const Survey& survey) {
  const Check check("process-ids");
  const Reading<ProcessView>& view = survey.host.processes;
  if (!view.measured()) return check.not_checkable(view.reason());
  if (view.value() == ProcessView::machine) return check.ok("those of the machine");
  const bool contained = view.value() == ProcessView::container;
  if (survey.gpus.empty()) {
    return check.ok(fmt::format("{}; there are no GPUs to share",
                                contained ? "a container's own" : "this user's alone"));
  }
  return contained
             ? check.found(fault::ids_contained, "this container has ids of its own")
             : check.found(fault::ids_hidden, "/proc shows this user's processes alone (hidepid)");
}

Finding check_kernel_view(const Survey& survey) {
  const Check check("sysfs");
  const auto& on_bus = survey.host.nvidia_devices;
  return on_bus.measured() ? check.ok("/sys shows PCI devices")
                           : check.found(fault::sysfs_missing, on_bus.reason());
}

}  // namespace

void check_host(const Survey& survey, Findings& findings) {
  findings.push_back(check_shared_memory(survey));
  findings.push_back(check_locked_memory(survey));
  findings.push_back(check_cores(survey));
  findings.push_back(check_process_ids(survey));
  findings.push_back(check_kernel_view(survey));
}

}  // namespace linkgain
