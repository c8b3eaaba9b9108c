#pragma once

#include <optional>
#include <vector>

#include "linkgain/hardware/machine.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {

/// What the driver says of the ways between these GPUs: Nvml::Device::link_to() and the NVLinks
/// that join the two, for every pair, `from` below `to`, which count devices. Of an absent device
/// nothing is known. Reads every GPU's links once.
std::vector<PairLink> links_between(const std::vector<std::optional<Nvml::Device>>& devices);

}  // namespace linkgain
