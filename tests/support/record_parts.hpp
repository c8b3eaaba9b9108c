#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "linkgain/record/record.hpp"

/// Parts that records of several tests have in common: two variants on a node of H200.
namespace linkgain::test {

inline Case all_reduce(std::int64_t bytes, int ranks = 2) {
  Case definition;
  definition.size = Bytes{bytes};
  definition.ranks = ranks;
  return definition;
}

/// Leaves out what tells one H200 from another: uuid, bus id.
inline GpuInfo h200_gpu(int index) {
  GpuInfo gpu;
  gpu.cuda_index = index;
  gpu.name = "NVIDIA H200";
  gpu.nvlink_version = 6;
  gpu.nvlink_links = 18;
  gpu.nvlink_links_active = 18;
  gpu.pcie_generation = 5;
  gpu.pcie_width = 16;
  return gpu;
}

inline RankInfo rank_with(GpuInfo gpu, int rank, std::string host) {
  return {.rank = rank,
          .host = std::move(host),
          .pid = 100 + rank,
          .cpus = "0-31",
          .gpu = std::move(gpu),
          .host_copy = {}};
}

inline Software h200_software(std::string mpi) {
  return {.linkgain = "0.1.0",
          .build = "nccl+mpi, sm_90, Release",
          .mpi = std::move(mpi),
          .driver = "580.159.04",
          .cuda_driver = "13.0",
          .cuda_runtime = "13.0",
          .nccl_header = "2.28.3",
          .nccl_library = "2.28.3"};
}

/// Compares NCCL as it is with NCCL kept off P2P, in rounds.
inline Settings p2p_against_host(const Environment& host = {{"NCCL_P2P_DISABLE", "1"}}) {
  Settings settings;
  settings.variants = {{"p2p", {}}, {"host", host}};
  settings.environment_in_force = {{}, host};
  return settings;
}

/// Makes a complete run on this host, without ranks and cases.
inline Record finished_run(std::string host, int processors, std::string mpi) {
  Record record;
  record.started = "2026-11-20T16:40:00Z";
  record.status = RunStatus::complete;
  record.machine.host = std::move(host);
  record.machine.kernel = "Linux 6.1.0";
  record.machine.processor = "Intel(R) Xeon(R) Platinum 8468";
  record.machine.processors = processors;
  record.machine.software = h200_software(std::move(mpi));
  record.settings = p2p_against_host();
  return record;
}

/// Fills in a time and what follows from it.
inline VariantResult timed_variant(const Case& definition, std::string variant, double seconds,
                                   Path path) {
  VariantResult result;
  result.variant = std::move(variant);
  result.time = Seconds{seconds};
  result.algbw = algorithm_bandwidth(definition, Seconds{seconds});
  result.busbw = bus_bandwidth(definition, Seconds{seconds});
  result.path = path;
  result.execution.cold_data = true;
  return result;
}

/// Returns evidence of what NVLink carried of 24 operations: all, if the case's bytes are known.
inline TrafficEvidence known_evidence(const Case& definition) {
  TrafficEvidence evidence;
  evidence.plan = {"RING", "SIMPLE"};
  evidence.operations = 24;
  evidence.nvlink_sent = 50533990400;
  evidence.pcie_sent = 4096;
  evidence.pcie_received = 8192;
  const double bytes = expected_bytes(definition, evidence.plan).value_or(0.0);
  if (bytes > 0.0) {
    evidence.expected = 24 * bytes;
    evidence.nvlink_sent = static_cast<std::int64_t>(1.00402 * *evidence.expected);
  } else {
    evidence.reason = "nothing is known of what it moves";
  }
  evidence.nvlink_received = *evidence.nvlink_sent + 1;
  evidence.judged = evidence.reason.empty();
  return evidence;
}

/// Describes a GPU that nothing throttled.
inline HealthSummary steady_health() {
  return {.lowest_temperature_c = 34,
          .highest_temperature_c = 48,
          .lowest_power_w = 80.4,
          .highest_power_w = 310.2,
          .lowest_sm_clock_mhz = 1980,
          .highest_sm_clock_mhz = 1980,
          .clock_event_reasons = 0,
          .samples = 20,
          .unhealthy_samples = 0,
          .power_capped_samples = 0};
}

}  // namespace linkgain::test
