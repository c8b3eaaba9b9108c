#pragma once

#include <cstdint>

#include "kernels/all_reduce.hpp"
#include "kernels/peer_regions.hpp"

namespace linkgain::kernels {

/// What the all-reduce kernels are launched with.
struct AllReduceArguments {
  PeerRegions regions;
  AllReduceOffsets offsets;
  std::int64_t items;  ///< of the size that the method goes by, padding included
};

}  // namespace linkgain::kernels
