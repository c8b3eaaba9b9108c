#pragma once

#include <string>

#include "linkgain/hardware/topology.hpp"

namespace linkgain {

/// The matrix with the cells and columns of `nvidia-smi topo -m`, and the legend of what occurs.
std::string topology_matrix(const Topology& topology);

/// All that `linkgain topo` prints: matrix, devices, NVLink and P2P. What is not known carries the
/// number of a note that says why.
std::string topology_report(const Topology& topology);

}  // namespace linkgain
