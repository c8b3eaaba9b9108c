#pragma once

#include "fleet_peers.hpp"
#include "linkgain/fleet/fleet.hpp"

namespace linkgain {

/// What a readable record is held against.
struct NodePeers {
  /// Whose figures count; null where no kind is large enough.
  const Kind* judges = nullptr;
  /// The usual kind of this model where this machine differs from it, else null.
  const Kind* usual = nullptr;
};

/// The line of one machine. Its findings stand in the order of their weight.
FleetNode judge_node(const FleetRecord& record, const NodePeers& peers, const FleetNames& names,
                     const FleetOptions& options);

}  // namespace linkgain
