#pragma once

#include <vector>

#include "linkgain/hardware/peer_copies.hpp"

namespace linkgain::gpu {

/// Copies by copy engine between all visible GPUs that reach each other's memory, one after the
/// other, some milliseconds each.
std::vector<PeerCopy> measure_peer_copies();

}  // namespace linkgain::gpu
