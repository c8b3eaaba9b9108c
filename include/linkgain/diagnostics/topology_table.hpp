#pragma once

#include <cstddef>
#include <string>

#include "linkgain/hardware/topology.hpp"
#include "linkgain/tables/screen_text.hpp"

namespace linkgain {

/// The matrix with the cells and columns of `nvidia-smi topo -m`, and the legend of what occurs.
std::string topology_matrix(const Topology& topology, std::size_t width);

/// All that `linkgain topo` prints: the verdict, matrix, devices, NVLink and P2P. What is not known
/// carries the number of a note that says why. Tables drop columns that the terminal has no room
/// for.
std::string topology_report(const Topology& topology, const ScreenStyle& style);

}  // namespace linkgain
