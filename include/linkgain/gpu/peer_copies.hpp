#pragma once

#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/hardware/peer_copies.hpp"

namespace linkgain::gpu {

/// Copies by copy engine between all visible GPUs that reach each other's memory, one after the
/// other, some milliseconds each.
std::vector<PeerCopy> measure_peer_copies();

/// Copies between pinned host memory and every visible GPU, both ways at once, for about that long,
/// so that their PCIe links are at work. Returns how many GPUs took part. Throws CudaError.
int load_links(Seconds time);

}  // namespace linkgain::gpu
