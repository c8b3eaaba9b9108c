#pragma once

#include <string>

#include "linkgain/hardware/topology.hpp"
#include "linkgain/tables/text_table.hpp"

namespace linkgain {

/// Sections of `linkgain topo` after the matrix: a title and a table each, empty where the machine
/// has nothing for them. What is not known is added to `notes`.
std::string gpus_section(const Topology& topology, Notes& notes);
std::string nics_section(const Topology& topology, Notes& notes);
std::string nvlink_section(const Topology& topology, Notes& notes);
std::string p2p_section(const Topology& topology, Notes& notes);

}  // namespace linkgain
