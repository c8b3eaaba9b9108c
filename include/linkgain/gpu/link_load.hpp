#pragma once

#include "linkgain/base/units.hpp"

namespace linkgain::gpu {

/// Copies between pinned host memory and every visible GPU, both ways at once, for about that long,
/// so that their PCIe links are at work. Returns how many GPUs took part. Throws CudaError.
int load_links(Seconds time);

}  // namespace linkgain::gpu
