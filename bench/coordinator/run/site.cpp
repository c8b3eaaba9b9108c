#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "linkgain/base/build_info.hpp"
#include "linkgain/base/environment.hpp"
#include "linkgain/hardware/topology.hpp"
#include "linkgain/run/launcher.hpp"
#include "linkgain/run/run_plan.hpp"
#include "linkgain/telemetry/cuda_order.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {
namespace {

/// The GPUs that CUDA sees, in its order as far as that can be known from outside.
std::vector<Nvml::Device> visible_devices(const Nvml& nvml, const CudaSettings& settings) {
  std::vector<Nvml::Device> devices;
  std::vector<TopologyGpu> gpus;
  for (int i = 0; i < nvml.device_count(); ++i) {
    const auto device = nvml.device_by_index(i);
    if (!device) continue;
    TopologyGpu& gpu = gpus.emplace_back();
    gpu.name = device->name().value_or("");
    gpu.uuid = device->uuid().value_or("");
    gpu.pci_bus_id = device->pci_bus_id().value_or("");
    devices.push_back(*device);
  }
  std::vector<Nvml::Device> visible;
  for (const std::size_t i : visible_to_cuda(gpus, settings)) visible.push_back(devices[i]);
  return visible;
}

}  // namespace

Site survey_site(const std::optional<std::filesystem::path>& hostfile) {
  Site site;
  if (hostfile) site.hostfile = read_hostfile(*hostfile);
  site.allocation = slurm_allocation(current_environment());
  site.host = host_name();
  site.processors = usable_processors();
  site.host_memory_bytes = available_memory();
  site.has_nccl = build_info().has_nccl;
  site.nccl_version = build_info().nccl_version;
  site.nccl_missing = build_info().nccl_missing;
  const std::shared_ptr<Nvml> nvml = Nvml::open(&site.no_gpus_reason);
  if (!nvml) return site;
  const CudaSettings settings = cuda_settings();
  for (const Nvml::Device& device : visible_devices(*nvml, settings)) {
    if (site.gpus++ == 0) site.gpu_name = device.name().value_or("GPU");
    if (const auto memory = device.memory_bytes()) {
      site.gpu_memory_bytes = std::min(site.gpu_memory_bytes.value_or(*memory), *memory);
    }
    if (device.exclusive_compute_mode().value_or(false)) site.exclusive_compute_mode = true;
  }
  if (site.gpus < 2) {
    site.no_gpus_reason = site.gpus == 1 ? "there is one GPU" : "no GPU is visible";
    if (settings.visible_devices && nvml->device_count() > site.gpus) {
      site.no_gpus_reason += " (CUDA_VISIBLE_DEVICES hides others)";
    }
  }
  return site;
}

}  // namespace linkgain
