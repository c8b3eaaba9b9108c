#include "linkgain/diagnostics/survey.hpp"

#include <pwd.h>
#include <unistd.h>

#include "linkgain/telemetry/pci.hpp"
#include "linkgain/telemetry/topology_reader.hpp"
#include "survey_host.hpp"

namespace linkgain {
namespace {

/// NVML's words for a GPU that its driver cannot reach; empty where the reading shows none.
template <typename T>
std::string loss_in(const Reading<T>& reading) {
  const bool lost = !reading.measured() && reading.reason().find("lost") != std::string::npos;
  return lost ? reading.reason() : std::string();
}

GpuSurvey survey_gpu(const Nvml::Device& device, int index, const std::filesystem::path& sys) {
  GpuSurvey gpu;
  gpu.index = index;
  gpu.name = device.name().value_or("");
  gpu.pci_bus_id = device.pci_bus_id().value_or("");
  gpu.temperature_c = device.temperature_c();
  gpu.lost = loss_in(gpu.temperature_c);
  if (!gpu.lost.empty()) return gpu;
  gpu.power = device.power();
  gpu.clock_events = device.clock_event_reasons();
  gpu.slowdown_temperature_c = device.slowdown_temperature_c();
  gpu.persistence_mode = device.persistence_mode();
  gpu.compute_mode = device.compute_mode();
  gpu.memory_remap_pending = device.memory_remap_pending();
  gpu.nvlink_errors = device.nvlink_errors();
  gpu.iommu_domain = iommu_domain(sys, gpu.pci_bus_id);
  return gpu;
}

std::vector<GpuSurvey> survey_gpus(const std::filesystem::path& sys) {
  std::vector<GpuSurvey> gpus;
  const std::shared_ptr<Nvml> nvml = Nvml::open();
  for (int index = 0; nvml && index < nvml->device_count(); ++index) {
    if (const auto device = nvml->device_by_index(index)) {
      gpus.push_back(survey_gpu(*device, index, sys));
      continue;
    }
    GpuSurvey& gpu = gpus.emplace_back();
    gpu.index = index;
    gpu.lost = "the driver counts it and has no handle for it";
  }
  return gpus;
}

}  // namespace

SurveySources sources_of_this_process(Environment environment) {
  SurveySources sources;
  if (const passwd* user = ::getpwuid(::getuid())) sources.home = user->pw_dir;
  sources.environment = std::move(environment);
  return sources;
}

Survey survey_machine(const SurveySources& sources) {
  Survey survey;
  survey.topology = survey_topology(sources.sys);
  survey.gpus = survey_gpus(sources.sys);
  const auto visible = sources.environment.find("CUDA_VISIBLE_DEVICES");
  if (visible != sources.environment.end()) survey.visible_devices = visible->second;
  std::vector<std::string> places;
  for (const GpuSurvey& gpu : survey.gpus) {
    if (!gpu.pci_bus_id.empty()) places.push_back(gpu.pci_bus_id);
  }
  survey.host = survey_host(sources, places);
  survey.software = survey_software(sources);
  return survey;
}

}  // namespace linkgain
