#include "topo_command.hpp"

#include <fmt/format.h>

#include "linkgain/base/errors.hpp"
#include "linkgain/diagnostics/topology_table.hpp"
#include "linkgain/telemetry/topology_reader.hpp"

namespace linkgain {

int topo_command(const TopoOptions& options) {
  const Topology topology = survey_topology();
  const bool has_gpus = !topology.gpus.empty();
  if (options.json) {
    fmt::print("{}", to_json(topology));
  } else if (has_gpus) {
    fmt::print("{}", topology_report(topology));
  }
  if (has_gpus) return static_cast<int>(ExitCode::success);
  throw MachineError(
      fmt::format("no GPU: {}", topology.no_gpus),
      "install NVIDIA's driver and check that nvidia-smi lists the GPUs; a container "
      "must be started with them (docker run --gpus all)");
}

}  // namespace linkgain
