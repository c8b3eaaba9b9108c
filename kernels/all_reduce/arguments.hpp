#pragma once

#include <cstdint>

#include "kernels/all_reduce/all_reduce.hpp"
#include "kernels/peer/peer_regions.hpp"

namespace linkgain::kernels {

/// What the all-reduce kernels are launched with.
struct AllReduceArguments {
  PeerRegions regions;
  AllReduceOffsets offsets;
  // Both of the size that the method goes by, padding included.
  std::int64_t items;   ///< of this operation
  std::int64_t layout;  ///< of the largest one that shares the scratch, up to a whole line
};

}  // namespace linkgain::kernels
