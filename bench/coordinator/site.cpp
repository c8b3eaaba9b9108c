#include <cstdlib>
#include <string>

#include "linkgain/coordinator/run_plan.hpp"
#include "linkgain/core/build_info.hpp"
#include "linkgain/core/names.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {
namespace {

/// The devices CUDA_VISIBLE_DEVICES leaves, found the way CUDA reads it: the list ends at the first
/// entry that names no device. Indices count in NVML's order, which is CUDA's with
/// CUDA_DEVICE_ORDER=PCI_BUS_ID and on machines with equal GPUs.
std::vector<Nvml::Device> visible_devices(const Nvml& nvml) {
  std::vector<Nvml::Device> devices;
  const char* restriction = std::getenv("CUDA_VISIBLE_DEVICES");
  if (restriction == nullptr) {
    for (int i = 0; i < nvml.device_count(); ++i) {
      if (const auto device = nvml.device_by_index(i)) devices.push_back(*device);
    }
    return devices;
  }
  for (const std::string& entry : split(restriction, ',')) {
    const bool number =
        !entry.empty() && entry.find_first_not_of("0123456789") == std::string::npos;
    const auto device = number && entry.size() < 6 ? nvml.device_by_index(std::stoi(entry))
                                                   : nvml.device_by_uuid(entry);
    if (!device) break;
    devices.push_back(*device);
  }
  return devices;
}

}  // namespace

Site survey_site() {
  Site site;
  site.host = host_name();
  site.processors = usable_processors();
  site.host_memory_bytes = available_memory();
  site.has_nccl = build_info().has_nccl;
  site.nccl_version = build_info().nccl_version;
  site.nccl_missing = build_info().nccl_missing;
  const std::shared_ptr<Nvml> nvml = Nvml::open(&site.no_gpus_reason);
  if (!nvml) return site;
  for (const Nvml::Device& device : visible_devices(*nvml)) {
    if (site.gpus++ == 0) site.gpu_name = device.name().value_or("GPU");
    if (const auto memory = device.memory_bytes()) {
      site.gpu_memory_bytes = std::min(site.gpu_memory_bytes.value_or(*memory), *memory);
    }
    if (device.exclusive_compute_mode().value_or(false)) site.exclusive_compute_mode = true;
  }
  if (site.gpus < 2) {
    site.no_gpus_reason = site.gpus == 1 ? "there is one GPU" : "no GPU is visible";
    if (std::getenv("CUDA_VISIBLE_DEVICES") != nullptr && nvml->device_count() > site.gpus) {
      site.no_gpus_reason += " (CUDA_VISIBLE_DEVICES hides others)";
    }
  }
  return site;
}

}  // namespace linkgain
