#pragma once

#include "linkgain/base/json_members.hpp"
#include "linkgain/hardware/health.hpp"
#include "linkgain/hardware/link_counters.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/hardware/neighbours.hpp"

/// What JSON documents hold of a machine, its GPUs and links.
namespace linkgain {
namespace json {

inline constexpr Rule kLinkRate{.least = 0.001, .most = 1e6};
/// Far above the 36 that NVML can tell of a GPU.
inline constexpr Rule kLinkCount{.most = 1024};
inline constexpr Rule kManyTimes{.most = 1e9};
/// So that no sum of them can overflow.
inline constexpr Rule kErrorCount{.most = 1e15};

}  // namespace json

void describe_members(auto& visit, json::Is<Software> auto& software) {
  visit.section("software");
  visit("linkgain", software.linkgain);
  visit("build", software.build, "what was built: backends, CUDA, NCCL, architectures");
  visit("mpi", software.mpi);
  visit("driver", software.driver);
  visit("cuda_driver", software.cuda_driver);
  visit("cuda_runtime", software.cuda_runtime);
  visit("nccl_header", software.nccl_header, "NCCL that linkgain-bench was compiled with");
  visit("nccl_library", software.nccl_library, "NCCL that was loaded");
  visit.later("nccl_build", software.nccl_build, "its version and CUDA, as its file holds them");
  visit.later("nccl_path", software.nccl_path, "its file");
  visit.later("nccl_found_by", software.nccl_found_by, "what led to it");
  visit.later("nccl_missing", software.nccl_missing, "what it lacks, or why there is none");
}

void describe_members(auto& visit, json::Is<GpuInfo> auto& gpu) {
  visit("cuda_index", gpu.cuda_index);
  visit("name", gpu.name);
  visit("uuid", gpu.uuid);
  visit("pci_bus_id", gpu.pci_bus_id);
  visit("memory_bytes", gpu.memory_bytes);
  visit("l2_bytes", gpu.l2_bytes);
  visit("multiprocessors", gpu.multiprocessors);
  visit("compute_capability", gpu.compute_capability);
  visit.later("nvlink_version", gpu.nvlink_version, "NVML's number: 6 is NVLink 4");
  visit.later("nvlink_links", gpu.nvlink_links, "", json::kLinkCount);
  visit.later("nvlink_links_active", gpu.nvlink_links_active, "", json::kLinkCount);
  visit.later("nvlink_rate_gb_per_s", gpu.nvlink_rate_gb_per_s,
              "of one link, the slowest active one, one direction", json::kLinkRate);
  visit.later("nvlink_total_gb_per_s", gpu.nvlink_total_gb_per_s,
              "of all active links together, one direction; older records lack it: there all links "
              "have the rate of one",
              json::kLinkRate);
  visit.later("pcie_generation", gpu.pcie_generation);
  visit.later("pcie_width", gpu.pcie_width);
  visit.later("most_sm_clock_mhz", gpu.most_sm_clock_mhz, "that the GPU can run at");
  visit.later("application_clock_mhz", gpu.application_clock_mhz,
              "set for graphics and SMs; not of all drivers");
  visit.later("most_custom_boost_clock_mhz", gpu.most_custom_boost_clock_mhz,
              "up to which a user lets the GPU boost");
  visit.later("power_limit_w", gpu.power_limit_w, "in force, whoever set it");
}

void describe_members(auto& visit, json::Is<CopyRates> auto& rates) {
  visit("to_gpu_gb_per_s", rates.to_gpu_gb_per_s, "", json::kLinkRate);
  visit("from_gpu_gb_per_s", rates.from_gpu_gb_per_s, "", json::kLinkRate);
}

void describe_members(auto& visit, json::Is<HostCopyRates> auto& rates) {
  visit("to_gpu_gb_per_s", rates.to_gpu_gb_per_s, "", json::kLinkRate);
  visit("from_gpu_gb_per_s", rates.from_gpu_gb_per_s, "", json::kLinkRate);
  visit.later("alone", rates.alone,
              "the same while no other rank of its host copies; older records lack it");
}

void describe_members(auto& visit, json::Is<RankInfo> auto& rank) {
  visit("rank", rank.rank);
  visit("host", rank.host);
  visit("pid", rank.pid);
  visit("cpus", rank.cpus, "the list that the process is bound to, 0-15");
  visit("gpu", rank.gpu);
  visit.later("host_copy", rank.host_copy,
              "copies between pinned host memory and this rank's GPU while all ranks copy");
}

void describe_members(auto& visit, json::Is<PairLink> auto& link) {
  visit("from", link.from);
  visit("to", link.to);
  visit("p2p", link.p2p, "whether each reaches the memory of the other");
  visit("nvlink", link.nvlink, "whether NVLink joins them");
  visit.later("ancestor", link.ancestor,
              "what they have in common by PCIe, as nvidia-smi topo -m names it");
  visit.later("nvlinks", link.nvlinks,
              "that join them, directly or through a switch; at most 1024, far above the 36 that "
              "NVML can tell of a GPU",
              json::kLinkCount);
  visit.derived("label", label_of(link), "as in the matrix of linkgain topo: NV18, PHB");
}

void describe_members(auto& visit, json::Is<Machine> auto& machine) {
  visit.section("machine");
  visit("host", machine.host);
  visit("kernel", machine.kernel);
  visit("processor", machine.processor);
  visit("processors", machine.processors);
  visit("software", machine.software);
  visit("ranks", machine.ranks);
  visit("links", machine.links);
}

void describe_members(auto& visit, json::Is<LinkCounters> auto& counters) {
  visit.section("link_counters", "bytes; null where not measured");
  visit.later("nvlink_sent", counters.nvlink_sent);
  visit.later("nvlink_received", counters.nvlink_received);
  visit.later("pcie_sent", counters.pcie_sent);
  visit.later("pcie_received", counters.pcie_received);
}

void describe_members(auto& visit, json::Is<GpuProcess> auto& process) {
  visit("pid", process.pid);
  visit("name", process.name);
  visit("memory_bytes", process.memory_bytes);
}

void describe_members(auto& visit, json::Is<GpuNeighbour> auto& neighbour) {
  visit("gpu", neighbour.gpu, "as CUDA numbers it");
  visit("after_s", neighbour.after_s, "since the run began; null: before it started anything");
  visit("busy_percent", neighbour.busy_percent, "while no job of the run worked", {.most = 100});
  visit("nvlink_gb_per_s", neighbour.nvlink_gb_per_s, "the same, both directions together");
  visit("processes", neighbour.processes, "those of others, as far as the driver shows them");
}

void describe_members(auto& visit, json::Is<Neighbours> auto& neighbours) {
  visit.section("neighbours",
                "work of others on the run's GPUs; null of a run without GPUs, absent in older "
                "records");
  visit("looks", neighbours.looks, "at the list of processes", json::kManyTimes);
  visit("idle_windows", neighbours.idle_windows,
        "in which utilization was read while no job worked", json::kManyTimes);
  visit("cost_s", neighbours.cost_s);
  visit("not_looked", neighbours.not_looked, "why nothing, or not all, was looked at");
  visit("seen", neighbours.seen);
}

inline constexpr const char* kMeaningOfErrorKinds =
    "the first four are NVLink's, of which outages is 1 while a link that was up when the run "
    "began is down or cannot be read; xid are errors in the kernel's log since the run began";

void describe_members(auto& visit, json::Is<CountedErrors> auto& errors) {
  visit("gpu", errors.counter.gpu, "as CUDA numbers it; of exec as nvidia-smi does");
  visit("link", errors.counter.link, "NVLink's number; null of what the GPU counts as a whole");
  visit("peer", errors.counter.peer,
        "GPU at the link's other end; null where the driver does not say");
  visit("counter", errors.counter.kind, kMeaningOfErrorKinds);
  visit("at_begin", errors.at_begin, "what it was when the run began");
  visit("growth", errors.growth, "during the run", json::kErrorCount);
}

void describe_members(auto& visit, json::Is<ErrorGrowth> auto& errors) {
  visit("gpu", errors.counter.gpu);
  visit("link", errors.counter.link);
  visit("peer", errors.counter.peer);
  visit("counter", errors.counter.kind, kMeaningOfErrorKinds);
  visit("after_s", errors.after_s, "of the later reading, since the run began");
  visit("growth", errors.growth, "", {.least = 1, .most = json::kErrorCount.most});
}

void describe_members(auto& visit, json::Is<LinkErrors> auto& errors) {
  visit.section("link_errors",
                "what the driver counted of errors on the links of the run's GPUs; absent where it "
                "tells nothing");
  visit("readings", errors.readings,
        "before the first launch, or run of exec, and at the end of each", {.least = 1});
  visit("counters", errors.counters);
  visit("grown", errors.grown, "a row where a counter grew between two readings");
}

void describe_members(auto& visit, json::Is<Health> auto& health) {
  visit.later("temperature_c", health.temperature_c);
  visit.later("power_w", health.power_w);
  visit.later("sm_clock_mhz", health.sm_clock_mhz);
  visit.later("clock_event_reasons", health.clock_event_reasons);
}

void describe_members(auto& visit, json::Is<HealthSummary> auto& health) {
  visit.section("health", "of the variant's samples, over all ranks");
  visit.later("lowest_temperature_c", health.lowest_temperature_c);
  visit.later("highest_temperature_c", health.highest_temperature_c);
  visit.later("lowest_power_w", health.lowest_power_w);
  visit.later("highest_power_w", health.highest_power_w);
  visit.later("lowest_sm_clock_mhz", health.lowest_sm_clock_mhz);
  visit.later("highest_sm_clock_mhz", health.highest_sm_clock_mhz);
  visit.later("clock_event_reasons", health.clock_event_reasons,
              "NVML's bits of all samples together");
  visit("samples", health.samples);
  visit("unhealthy_samples", health.unhealthy_samples, "throttled by heat, power supply or cable");
  visit("power_capped_samples", health.power_capped_samples);
}

}  // namespace linkgain
