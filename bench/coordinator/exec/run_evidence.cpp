#include "run_evidence.hpp"

#include "linkgain/base/json.hpp"
#include "linkgain/hardware/machine_json.hpp"
#include "linkgain/hardware/neighbours_json.hpp"
#include "linkgain/record/record_json.hpp"

namespace linkgain {
namespace json {
namespace {

Out write_gpu(const GpuEvidence& gpu) {
  return {{"gpu", gpu.gpu},
          {"traffic", write_link_counters(gpu.traffic)},
          {"nvlink_reason", gpu.nvlink_reason},
          {"pcie_reason", gpu.pcie_reason},
          {"health", write_health_summary(gpu.health)}};
}

GpuEvidence read_gpu(const In& json) {
  return {json.at("gpu"), read_link_counters(json.at("traffic")), json.at("nvlink_reason"),
          json.at("pcie_reason"), read_health_summary(json.at("health"))};
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

const char* const kRunEvidenceSchema = R"({
  "type": "object",
  "description": "what was seen from outside of one run of a command",
  "required": ["no_gpus", "gpus", "nccl", "processes_looked", "neighbours", "cost_s"],
  "properties": {
    "no_gpus": {"type": "string", "description": "why no GPU was looked at"},
    "gpus": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["gpu", "traffic", "nvlink_reason", "pcie_reason", "health"],
        "properties": {
          "gpu": {"type": "integer", "minimum": 0, "description": "as nvidia-smi numbers it"},
          "traffic": {"type": "object", "description": "bytes of the run; null where not measured"},
          "nvlink_reason": {"type": "string", "description": "why NVLink's bytes are absent"},
          "pcie_reason": {"type": "string", "description": "why PCIe's bytes are absent"},
          "health": {"type": "object", "required": ["samples", "unhealthy_samples", "power_capped_samples"]}
        }
      }
    },
    "nccl": {
      "type": "array",
      "description": "libraries that the command's processes had mapped",
      "items": {
        "type": "object",
        "required": ["path", "version", "deleted", "processes"],
        "properties": {
          "path": {"type": "string"},
          "version": {"type": "string", "description": "empty where the file does not say"},
          "deleted": {"type": "boolean", "description": "removed or replaced while it was in use"},
          "processes": {"type": "integer", "minimum": 1}
        }
      }
    },
    "processes_looked": {"type": "integer", "minimum": 0, "description": "whose mappings could be read"},
    "neighbours": {"type": "object", "required": ["looks", "idle_windows", "cost_s", "not_looked", "seen"]},
    "cost_s": {"type": "number", "minimum": 0, "description": "processor time that looking took"}
  }
})";

}  // namespace linkgain
