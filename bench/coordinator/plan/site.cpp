#include "linkgain/plan/site.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "linkgain/base/build_info.hpp"
#include "linkgain/base/environment.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/hardware/topology.hpp"
#include "linkgain/telemetry/cuda_order.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {
namespace {

/// Reads a number above 0.
std::optional<int> count_of(const Environment& environment, const std::string& name) {
  const auto number = whole_number<int>(value_of(environment, name));
  return number && *number >= 1 ? number : std::nullopt;
}

/// Tells whether CUDA shows a process one MIG instance and nothing else.
bool is_one_instance(const Nvml& nvml, const CudaSettings& settings) {
  if (names_mig_instance(settings)) return true;
  for (int i = 0; i < nvml.device_count(); ++i) {
    const auto device = nvml.device_by_index(i);
    if (!device || !device->mig_mode().value_or(false)) return false;
  }
  return nvml.device_count() > 0;
}

/// Returns the GPUs that CUDA sees, in its order as far as that can be known from outside.
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
  if (visible.size() > 1 && is_one_instance(nvml, settings)) visible.resize(1, visible.front());
  return visible;
}

}  // namespace

std::optional<Hosts> slurm_allocation(const Environment& environment) {
  if (!environment.contains("SLURM_JOB_ID")) return std::nullopt;
  Hosts hosts;
  hosts.count = count_of(environment, "SLURM_JOB_NUM_NODES").value_or(1);
  const std::optional<int> tasks = count_of(environment, "SLURM_NTASKS");
  if (tasks && *tasks > 1) hosts.slots = tasks;
  return hosts;
}

Site survey_site(const std::optional<Hosts>& hosts) {
  Site site;
  site.hostfile = hosts;
  site.allocation = slurm_allocation(current_environment());
  site.host = host_name();
  site.processors = usable_processors();
  site.host_memory_bytes = available_memory();
  site.shared_memory_bytes = free_shared_memory();
  site.processes = startable_processes();
  site.built_cuda = build_info().cuda;
  site.has_nccl = build_info().has_nccl;
  site.nccl_missing = build_info().nccl_missing;
  const std::shared_ptr<Nvml> nvml = Nvml::open(&site.no_gpus_reason, &site.no_gpus_advice);
  if (!nvml) return site;
  site.driver_cuda = nvml->cuda_version();
  const CudaSettings settings = cuda_settings();
  for (const Nvml::Device& device : visible_devices(*nvml, settings)) {
    if (site.gpus++ == 0) site.gpu_name = device.name().value_or("GPU");
    site.gpu_pci_bus_ids.push_back(device.pci_bus_id().value_or(""));
    if (const auto memory = device.memory_bytes()) {
      site.gpu_memory_bytes = std::min(site.gpu_memory_bytes.value_or(*memory), *memory);
    }
    site.free_gpu_memory.push_back(device.free_memory_bytes());
    site.architectures.push_back(device.sm_architecture());
    if (device.exclusive_compute_mode().value_or(false)) site.exclusive_compute_mode = true;
  }
  if (site.gpus < 2) {
    site.no_gpus_reason = site.gpus == 1 ? "there is one GPU" : "no GPU is visible";
    if (is_one_instance(*nvml, settings)) {
      site.no_gpus_reason = "CUDA shows a process one MIG instance, which reaches no other GPU";
      site.no_gpus_advice =
          "take GPUs that are not split (nvidia-smi -L lists the instances), or turn MIG off as "
          "root: nvidia-smi -i N -mig 0";
    } else if (settings.visible_devices && nvml->device_count() > site.gpus) {
      site.no_gpus_reason += " (CUDA_VISIBLE_DEVICES hides others)";
    }
  }
  return site;
}

}  // namespace linkgain
