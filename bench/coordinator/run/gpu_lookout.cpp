#include "linkgain/run/gpu_lookout.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkgain {

GpuLookout::GpuLookout(const RunPlan& plan, const Site& site) {
  if (plan.backend != BackendKind::nccl) return;
  nvml_ = Nvml::open(&why_not_all_);
  if (!nvml_) return;
  for (int gpu = 0; gpu < static_cast<int>(site.gpu_pci_bus_ids.size()); ++gpu) {
    const bool used = plan.gpus.empty()
                          ? gpu < plan.ranks
                          : std::find(plan.gpus.begin(), plan.gpus.end(), gpu) != plan.gpus.end();
    if (!used) continue;
    const std::string& place = site.gpu_pci_bus_ids[static_cast<std::size_t>(gpu)];
    if (const auto device = nvml_->device_by_pci_bus_id(place)) {
      gpus_.emplace_back(gpu, *device);
    } else {
      why_not_all_ = fmt::format("NVML does not find GPU {} again", gpu);
    }
  }
  errors_ = ErrorCounterReader(gpus_);
  if (gpus_.empty()) {
    why_not_all_ = "this host has none of the run's GPUs";
  } else if (plan.hosts > 1) {
    why_not_all_ = "those of other hosts are not looked at";
  }
}

std::vector<GpuUse> GpuLookout::look() const {
  std::vector<GpuUse> uses;
  for (const auto& [number, device] : gpus_) {
    GpuUse& use = uses.emplace_back();
    use.gpu = number;
    use.busy_percent = device.busy_percent().optional();
    use.processes = device.processes().optional();
    const LinkCounters counters = device.link_counters();
    if (counters.nvlink_sent && counters.nvlink_received) {
      use.nvlink_bytes = *counters.nvlink_sent + *counters.nvlink_received;
    }
  }
  return uses;
}

}  // namespace linkgain
