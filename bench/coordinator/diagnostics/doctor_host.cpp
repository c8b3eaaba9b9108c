#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "checks.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

/// NCCL's buffers of one channel in one rank where messages go through shared memory: 4 MiB for
/// protocol Simple and those of LL and LL128, as its message "unable to allocate shared memory" has
/// it; and the channels that it uses so at most without being told.
constexpr std::int64_t kChannelBytes = 9637888;
constexpr int kChannels = 16;

/// To a tenth of the largest unit that fits.
std::string rough(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024.0 && unit + 1 < std::size(kUnits); ++unit) amount /= 1024.0;
  return fmt::format("{:.3g} {}", amount, kUnits[unit]);
}

Finding check_shared_memory(const Survey& survey) {
  const Check check(CheckGroup::host, "shared-memory", kHost);
  const auto& shm = survey.host.shared_memory;
  if (!shm.measured()) return check.not_checkable(shm.reason());
  const std::int64_t ranks = std::max(2, visible_gpus(survey));
  const std::int64_t needed = ranks * kChannelBytes;
  const std::string value = fmt::format("{} free of {} in /dev/shm", rough(shm.value().free_bytes),
                                        rough(shm.value().bytes));
  const char* advice =
      "in a container: --shm-size=1g or --ipc=host; else mount -o remount,size=8G /dev/shm, or "
      "remove files that crashed programs left there (nccl-*)";
  if (shm.value().free_bytes < needed) {
    return check.problem(value,
                         fmt::format("NCCL needs {} for {} ranks at the very least: its start "
                                     "fails (\"No space left on device\", \"unable to allocate "
                                     "shared memory\") or the program dies of a bus error",
                                     rough(needed), ranks),
                         advice);
  }
  if (shm.value().free_bytes < needed * kChannels) {
    return check.warning(value,
                         fmt::format("{} ranks with {} channels each need {} where messages go "
                                     "through host memory; 64 MiB is a container's default",
                                     ranks, kChannels, rough(needed * kChannels)),
                         advice);
  }
  return check.ok(value);
}

Finding check_locked_memory(const Survey& survey) {
  const Check check(CheckGroup::host, "locked-memory", kHost);
  const auto& limit = survey.host.locked_memory;
  if (!limit.measured()) return check.not_checkable(limit.reason());
  if (!limit.value().bytes) return check.ok("unlimited");
  const std::string value = rough(*limit.value().bytes);
  if (survey.topology.nics.empty()) {
    return check.ok(value + ": matters to RDMA network adapters, and there is none");
  }
  constexpr std::int64_t kEnough = std::int64_t{1} << 30;
  if (*limit.value().bytes >= kEnough) return check.ok(value);
  return check.warning(value,
                       "RDMA adapters must lock the memory they reach: NCCL and MPI fail to "
                       "register theirs beyond this",
                       "ulimit -l unlimited (limits.conf, or --ulimit memlock=-1 for a container)");
}

Finding check_cores(const Survey& survey) {
  const Check check(CheckGroup::host, "cores", kHost);
  const HostSurvey& host = survey.host;
  const int ranks = std::max(2, visible_gpus(survey));
  double usable = host.processors;
  std::string value = counted(host.processors, "processor", "processors");
  if (host.processor_quota.measured() && host.processor_quota.value() < usable) {
    usable = host.processor_quota.value();
    value = fmt::format("{:.3g} of {} processors' time (control group)", usable, host.processors);
  }
  value += fmt::format(" for {} ranks", ranks);
  const char* advice =
      "give the job or container more processors (--cpus, --cpus-per-task), or start fewer ranks";
  if (usable < ranks) {
    return check.problem(value,
                         "each rank spins on a processor while it waits: ranks that share one "
                         "disturb every sample",
                         advice);
  }
  if (usable < 2.0 * ranks) {
    return check.warning(value,
                         "each rank has a second thread that moves data through host memory and "
                         "the network; it may have to wait",
                         advice);
  }
  return check.ok(value);
}

Finding check_process_ids(const Survey& survey) {
  const Check check(CheckGroup::host, "process-ids", kHost);
  const Reading<ProcessView>& view = survey.host.processes;
  if (!view.measured()) return check.not_checkable(view.reason());
  if (view.value() == ProcessView::machine) return check.ok("those of the machine");
  const bool contained = view.value() == ProcessView::container;
  if (survey.gpus.empty()) {
    return check.ok(fmt::format("{}; there are no GPUs to share",
                                contained ? "a container's own" : "this user's alone"));
  }
  return check.warning(contained ? "this container has ids of its own"
                                 : "/proc shows this user's processes alone (hidepid)",
                       "the processes of others on the GPUs are hidden: a run knows them by their "
                       "number and the GPUs' utilization alone",
                       contained
                           ? "docker run --pid=host, or run `linkgain doctor` outside the container"
                           : "mount -o remount,hidepid=0 /proc, or run `linkgain doctor` as root");
}

Finding check_kernel_view(const Survey& survey) {
  const Check check(CheckGroup::host, "sysfs", kHost);
  const auto& on_bus = survey.host.nvidia_devices;
  if (on_bus.measured()) return check.ok("/sys shows PCI devices");
  return check.warning(on_bus.reason(),
                       "NCCL reads from /sys which GPUs are near each other and may refuse P2P; "
                       "links, ACS, IOMMU and NUMA nodes of PCIe are not checkable",
                       "mount it: docker run does by itself; else -v /sys:/sys:ro, or "
                       "mount -t sysfs sysfs /sys");
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
