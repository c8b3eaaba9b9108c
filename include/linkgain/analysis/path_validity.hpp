#pragma once

#include <optional>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// The path of our own work, which knows itself whether it reaches other GPUs' memory: then the
/// link between the ranks that the case joins, nvlink or pcie_p2p, mixed where they differ, unknown
/// where the driver did not say. Absent where the library chose.
std::optional<Path> own_path(const Machine& machine, const Case& c, const Execution& execution);

}  // namespace linkgain
