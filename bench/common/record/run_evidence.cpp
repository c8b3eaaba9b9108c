#include "linkgain/record/run_evidence.hpp"

#include "linkgain/base/json.hpp"
#include "linkgain/hardware/machine_json.hpp"
#include "linkgain/record/record_json.hpp"

namespace linkgain {
namespace json {
namespace {

Out write_gpu(const GpuEvidence& gpu) {
  return {{"gpu", gpu.gpu},
          {"traffic", write_link_counters(gpu.traffic)},
          {"nvlink_reason", gpu.nvlink_reason},
          {"pcie_reason", gpu.pcie_reason},
          {"health", write_health_summary(gpu.health)},
          {"used", gpu.used}};
}

GpuEvidence read_gpu(const In& json) {
  return {json.at("gpu"),
          read_link_counters(json.at("traffic")),
          json.at("nvlink_reason"),
          json.at("pcie_reason"),
          read_health_summary(json.at("health")),
          optional_at<bool>(json, "used").value_or(false)};
}

Out write_nccl(const MappedNccl& library) {
  return {{"path", library.path},
          {"version", library.version},
          {"deleted", library.deleted},
          {"processes", library.processes}};
}

MappedNccl read_nccl(const In& json) {
  return {json.at("path"), json.at("version"), json.at("deleted"), json.at("processes")};
}

}  // namespace

Out write_run_evidence(const RunEvidence& evidence) {
  return {{"no_gpus", evidence.no_gpus},
          {"gpus", array_of(evidence.gpus, write_gpu)},
          {"nccl", array_of(evidence.nccl, write_nccl)},
          {"processes_looked", evidence.processes_looked},
          {"neighbours", write_neighbours(evidence.neighbours)},
          {"cost_s", evidence.cost_s}};
}

RunEvidence read_run_evidence(const In& json) {
  RunEvidence evidence;
  evidence.no_gpus = json.at("no_gpus");
  evidence.gpus = vector_of<GpuEvidence>(json.at("gpus"), read_gpu);
  evidence.nccl = vector_of<MappedNccl>(json.at("nccl"), read_nccl);
  evidence.processes_looked = json.at("processes_looked");
  evidence.neighbours = read_neighbours(json.at("neighbours"));
  evidence.cost_s = json.at("cost_s");
  return evidence;
}

}  // namespace json
}  // namespace linkgain
