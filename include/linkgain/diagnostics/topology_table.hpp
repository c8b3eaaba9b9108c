#pragma once

#include <string>

#include "linkgain/hardware/nccl_settings.hpp"
#include "linkgain/hardware/topology.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

/// Shows the matrix with the cells and columns of `nvidia-smi topo -m`, and explains what occurs.
Document topology_matrix(const Topology& topology);

/// Shows all that `linkgain topo` prints: the verdict, matrix, devices, NVLink and P2P. What is not
/// known carries the number of a note that says why. `nccl` is link_answer()'s, `picture` a page's.
Document topology_report(const Topology& topology, const NcclSettings& nccl = {},
                         const std::string& picture = {});

}  // namespace linkgain
