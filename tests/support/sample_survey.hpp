#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/diagnostics/survey.hpp"

/// Machines as a survey describes them, for the checks of `linkgain doctor`.
namespace linkgain::test {

inline TopologyPair nvlink_pair(int from, int to, int links) {
  TopologyPair pair;
  pair.from = from;
  pair.to = to;
  pair.ancestor = Ancestor::phb;
  pair.nvlinks = links;
  pair.read = P2pStatus{true, {}};
  pair.write = P2pStatus{true, {}};
  pair.atomics = P2pStatus{true, {}};
  pair.over_nvlink = P2pStatus{links > 0, links > 0 ? "" : "not supported"};
  return pair;
}

inline TopologyGpu healthy_links(int index) {
  TopologyGpu gpu;
  gpu.index = index;
  gpu.name = "NVIDIA H200";
  gpu.pci_bus_id = "00000000:0" + std::to_string(index + 6) + ":00.0";
  gpu.cuda_index = index;
  gpu.numa_node = 0;
  gpu.nvlink = {.version = 6,
                .possible = 18,
                .active = 18,
                .rate_gb_per_s = 26.5625,
                .switched = true,
                .dark = std::vector<int>{}};
  gpu.pcie = {.generation = 5, .width = 16, .most_generation = 5, .most_width = 16};
  gpu.path = {{"0000:0" + std::to_string(index + 6) + ":00.0", 16, 16, 32.0},
              {"0000:00:0" + std::to_string(index + 1) + ".0", 16, 16, 32.0}};
  gpu.bar1_bytes = std::int64_t{256} << 30;
  gpu.memory_bytes = std::int64_t{141} << 30;
  gpu.mig_mode = false;
  return gpu;
}

inline PowerState power_of(std::optional<double> limit_w, std::optional<double> default_w,
                           std::optional<double> most_w) {
  PowerState power;
  power.draw_w = 82.0;
  power.limit_w = limit_w;
  power.default_limit_w = default_w;
  power.most_limit_w = most_w;
  return power;
}

inline GpuSurvey healthy_gpu(int index) {
  GpuSurvey gpu;
  gpu.index = index;
  gpu.name = "NVIDIA H200";
  gpu.pci_bus_id = "00000000:0" + std::to_string(index + 6) + ":00.0";
  gpu.power = power_of(700.0, 700.0, 700.0);
  gpu.clock_events = std::uint64_t{0x1};
  gpu.temperature_c = 45;
  gpu.slowdown_temperature_c = 89;
  gpu.persistence_mode = true;
  gpu.busy_percent = 0.0;
  gpu.processes = std::vector<GpuProcess>{};
  gpu.compute_mode = ComputeModeName::shared;
  gpu.memory_remap_pending = false;
  gpu.nvlink_errors = NvlinkErrors{};
  gpu.iommu_domain = Missing{"is in no IOMMU group"};
  return gpu;
}

inline HostSurvey healthy_host() {
  HostSurvey host;
  host.shared_memory = Capacity{std::int64_t{256} << 30, std::int64_t{256} << 30};
  host.locked_memory = MemoryLimit{};
  host.processors = 32;
  host.processor_quota = Missing{"unlimited"};
  host.processes = ProcessView::machine;
  host.iommu_units = std::vector<std::string>{};
  host.bridges = std::vector<PcieBridge>{};
  host.nvidia_devices = std::vector<std::string>{"0000:06:00.0", "0000:07:00.0"};
  host.xid_events = std::vector<XidEvent>{};
  return host;
}

inline SoftwareSurvey healthy_software() {
  SoftwareSurvey software;
  software.worker = Software{.linkgain = "0.2.0",
                             .build = "nccl+mpi, sm_90, Release",
                             .mpi = "Open MPI v4.1.4",
                             .driver = "580.159.04",
                             .cuda_driver = "13.0",
                             .cuda_runtime = "13.0",
                             .nccl_header = "2.28.9",
                             .nccl_library = "2.28.9"};
  software.mpirun = std::string("/usr/bin/mpirun");
  software.mpirun_version = MpiVersion{"Open MPI", 4, "4.1.4"};
  return software;
}

/// Joins two H200 through a switch, idle, with nothing wrong.
inline Survey healthy_survey() {
  Survey survey;
  survey.topology.host = "node";
  survey.topology.driver = std::string("580.159.04");
  for (int index : {0, 1}) {
    survey.topology.gpus.push_back(healthy_links(index));
    survey.gpus.push_back(healthy_gpu(index));
  }
  survey.topology.pairs = {nvlink_pair(0, 1, 18), nvlink_pair(1, 0, 18)};
  survey.host = healthy_host();
  survey.software = healthy_software();
  return survey;
}

/// Takes NVLink away: messages go over PCIe.
inline Survey pcie_survey() {
  Survey survey = healthy_survey();
  for (TopologyGpu& gpu : survey.topology.gpus) {
    gpu.nvlink.possible = Missing{"Not Supported (NVML error 3)", WhyMissing::unsupported};
    gpu.nvlink.active = gpu.nvlink.possible;
  }
  survey.topology.pairs = {nvlink_pair(0, 1, 0), nvlink_pair(1, 0, 0)};
  return survey;
}

/// Describes no GPU and no driver, the worker built without CUDA.
inline Survey no_gpu_survey() {
  Survey survey;
  survey.topology.host = "laptop";
  survey.topology.no_gpus = "libnvidia-ml.so.1 cannot be loaded";
  survey.host = healthy_host();
  survey.host.nvidia_devices = std::vector<std::string>{};
  survey.host.bridges = std::vector<PcieBridge>{};
  survey.software = healthy_software();
  survey.software.worker = Software{.linkgain = "0.2.0",
                                    .build = "mpi, Release",
                                    .mpi = "Open MPI v4.1.4",
                                    .driver = {},
                                    .cuda_driver = {},
                                    .cuda_runtime = {},
                                    .nccl_header = {},
                                    .nccl_library = {}};
  return survey;
}

/// Returns what the GPU showed under load with nothing wrong.
inline GpuLoad healthy_load() {
  GpuLoad load;
  load.pcie_generation = 5;
  load.pcie_width = 16;
  load.clock_events = std::uint64_t{0};
  load.highest_temperature_c = 60;
  load.highest_power_w = 150.0;
  return load;
}

}  // namespace linkgain::test
