#pragma once

#include <filesystem>

#include "linkgain/hardware/topology.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {

/// Surveys the devices of this machine: GPUs from NVML, NICs and what NVML does not report from the
/// kernel's folder `sys` ("/sys"; tests give another). Never throws for what is missing.
Topology survey_topology(const std::filesystem::path& sys = "/sys");

}  // namespace linkgain
