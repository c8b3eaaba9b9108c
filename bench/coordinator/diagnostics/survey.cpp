#include "linkgain/diagnostics/survey.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/topology_reader.hpp"

namespace linkgain {
namespace {

/// Looks at who is busy until that is not work of before: the driver's reading is of a period of at
/// most 1 s that ended at most as long ago.
Reading<double> busy_percent_of(const Nvml::Device& device) {
  constexpr std::chrono::milliseconds kStep{100};
  constexpr int kMostLooks = 20;
  Reading<double> busy = device.busy_percent();
  for (int look = 0; look < kMostLooks && busy.value_or(0.0) >= kBusyPercent; ++look) {
    std::this_thread::sleep_for(kStep);
    busy = device.busy_percent();
  }
  return busy;
}

GpuSurvey survey_gpu(const Nvml::Device& device, int index, const std::filesystem::path& sys) {
  GpuSurvey gpu;
  gpu.index = index;
  gpu.name = device.name().value_or("");
  gpu.pci_bus_id = device.pci_bus_id().value_or("");
  gpu.temperature_c = device.temperature_c();
  if (gpu.temperature_c.why() == WhyMissing::lost) {
    gpu.lost = gpu.temperature_c.reason();
    return gpu;
  }
  gpu.power = device.power();
  gpu.clock_events = device.clock_event_reasons();
  gpu.slowdown_temperature_c = device.slowdown_temperature_c();
  gpu.persistence_mode = device.persistence_mode();
  gpu.compute_mode = device.compute_mode();
  gpu.memory_remap_pending = device.memory_remap_pending();
  gpu.nvlink_errors = device.nvlink_errors();
  gpu.busy_percent = busy_percent_of(device);
  gpu.processes = device.processes();
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

Reading<Capacity> capacity_of(const std::filesystem::path& folder) {
  struct statvfs state {};
  if (::statvfs(folder.c_str(), &state) != 0) {
    return Missing{fmt::format("{}: {}", folder.string(), std::strerror(errno))};
  }
  const auto block = static_cast<std::int64_t>(state.f_frsize);
  return Capacity{block * static_cast<std::int64_t>(state.f_blocks),
                  block * static_cast<std::int64_t>(state.f_bavail)};
}

Reading<MemoryLimit> locked_memory_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
    return Missing{std::strerror(errno)};
  }
  if (limit.rlim_cur == RLIM_INFINITY) return MemoryLimit{};
  return MemoryLimit{static_cast<std::int64_t>(limit.rlim_cur)};
}

Reading<ProcessView> process_view(const std::filesystem::path& proc) {
  std::error_code error;
  const auto space = std::filesystem::read_symlink(proc / "self/ns/pid", error).string();
  if (error) return Missing{"the kernel does not say"};
  // PROC_PID_INIT_INO of the kernel's proc_ns.h: its first namespace.
  if (space != "pid:[4026531836]") return ProcessView::container;
  return std::filesystem::exists(proc / "1", error) ? ProcessView::machine : ProcessView::user;
}

/// Takes the PCI addresses of the GPUs.
HostSurvey survey_host(const SurveySources& sources, const std::vector<std::string>& gpus) {
  HostSurvey host;
  host.shared_memory = capacity_of(sources.shared_memory);
  host.locked_memory = locked_memory_limit();
  host.processors = usable_processors();
  host.processor_quota = cgroup_processors(sources.proc, sources.sys);
  host.processes = process_view(sources.proc);
  host.iommu_units = iommu_units(sources.sys);
  std::ifstream command_line(sources.proc / "cmdline");
  std::getline(command_line, host.kernel_command_line);
  host.bridges = bridges_above(sources.sys, gpus);
  host.nvidia_devices = nvidia_devices(sources.sys);
  host.xid_events = read_kernel_log(sources.kernel_log);
  const auto firmware = [&](const char* name) {
    const auto text = read_regular_file(sources.sys / "class/dmi/id" / name);
    return text.measured() ? split(text.value(), '\n').front() : std::string();
  };
  host.board = firmware("board_vendor");
  host.board += (host.board.empty() ? "" : " ") + firmware("board_name");
  host.bios = firmware("bios_version");
  return host;
}

template <typename T>
void keep_highest(Reading<T>& kept, const Reading<T>& seen) {
  if (!seen.measured()) {
    if (!kept.measured()) kept = seen;
    return;
  }
  kept = kept.measured() ? std::max(kept.value(), seen.value()) : seen.value();
}

Reading<double> draw_of(const Reading<PowerState>& power) {
  if (!power.measured()) return power.missing();
  return power.value().draw_w;
}

/// Says nothing where CUDA sees the GPU.
std::string why_hidden(const Survey& survey, int index) {
  const auto gpu = std::ranges::find(survey.topology.gpus, index, &TopologyGpu::index);
  if (gpu == survey.topology.gpus.end() || gpu->cuda_index.measured()) return {};
  return gpu->cuda_index.reason();
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
  survey.topology = survey_topology(sources.sys, sources.proc);
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

LoadWatch::LoadWatch(const Survey& survey) : nvml_(Nvml::open()) {
  if (!nvml_) return;
  for (const GpuSurvey& gpu : survey.gpus) {
    const auto device = nvml_->device_by_index(gpu.index);
    if (device && gpu.lost.empty()) gpus_.push_back({gpu.index, *device, {}});
  }
}

void LoadWatch::look() {
  for (Watched& gpu : gpus_) {
    const PcieInfo pcie = gpu.device.pcie();
    keep_highest(gpu.seen.pcie_generation, pcie.generation);
    keep_highest(gpu.seen.pcie_width, pcie.width);
    keep_highest(gpu.seen.highest_temperature_c, gpu.device.temperature_c());
    keep_highest(gpu.seen.highest_power_w, draw_of(gpu.device.power()));
    const Reading<std::uint64_t> events = gpu.device.clock_event_reasons();
    if (events.measured()) {
      gpu.seen.clock_events = gpu.seen.clock_events.value_or(0) | events.value();
    } else if (!gpu.seen.clock_events.measured()) {
      gpu.seen.clock_events = events;
    }
  }
}

void LoadWatch::put_into(Survey& survey) const {
  for (GpuSurvey& gpu : survey.gpus) {
    const auto watched = std::ranges::find(gpus_, gpu.index, &Watched::index);
    const std::string hidden = why_hidden(survey, gpu.index);
    if (!hidden.empty()) {
      gpu.load = Missing{"had no work: " + hidden};
    } else if (watched == gpus_.end()) {
      gpu.load = Missing{"could not be watched"};
    } else {
      gpu.load = watched->seen;
    }
  }
}

}  // namespace linkgain
