#include "linkgain/hardware/neighbours_json.hpp"

#include "linkgain/base/json.hpp"

namespace linkgain::json {
namespace {

Out write_process(const GpuProcess& process) {
  return {{"pid", process.pid},
          {"name", process.name},
          {"memory_bytes", nullable(process.memory_bytes)}};
}

Out write_neighbour(const GpuNeighbour& neighbour) {
  return {{"gpu", neighbour.gpu},
          {"after_s", nullable(neighbour.after_s)},
          {"busy_percent", nullable(neighbour.busy_percent)},
          {"nvlink_gb_per_s", nullable(neighbour.nvlink_gb_per_s)},
          {"processes", array_of(neighbour.processes, write_process)}};
}

GpuProcess read_process(const In& json) {
  return {json.at("pid"), json.at("name"), optional_at<std::int64_t>(json, "memory_bytes")};
}

GpuNeighbour read_neighbour(const In& json) {
  return {json.at("gpu"), optional_at<double>(json, "after_s"),
          optional_at<double>(json, "busy_percent"), optional_at<double>(json, "nvlink_gb_per_s"),
          vector_of<GpuProcess>(json.at("processes"), read_process)};
}

}  // namespace

Out write_neighbours(const Neighbours& neighbours) {
  return {{"looks", neighbours.looks},
          {"idle_windows", neighbours.idle_windows},
          {"cost_s", neighbours.cost_s},
          {"not_looked", neighbours.not_looked},
          {"seen", array_of(neighbours.seen, write_neighbour)}};
}

Neighbours read_neighbours(const In& json) {
  return {json.at("looks"), json.at("idle_windows"), json.at("cost_s"), json.at("not_looked"),
          vector_of<GpuNeighbour>(json.at("seen"), read_neighbour)};
}

}  // namespace linkgain::json
