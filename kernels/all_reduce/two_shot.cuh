#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/all_reduce/arguments.hpp"
#include "kernels/all_reduce/blocks.hpp"
#include "kernels/all_reduce/shared_sums.cuh"
#include "kernels/peer/signal.cuh"

// All-reduce kernels whose ranks each add up a share of the data.

namespace linkgain::kernels {

/// A block sends its next chunk before it waits for the others' last one. Where it stores sums, its
/// counterpart has sent data of this operation, so that everything before it is over there.
template <typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads, kBlocksEach)
    two_shot(const __grid_constant__ AllReduceArguments arguments) {
  begin();
  SharedSums<T, kRanks> sums(arguments, false);
  const std::int64_t chunks = sums.chunks();
  if (blockIdx.x < chunks) sums.send(blockIdx.x);
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const std::int64_t next = chunk + gridDim.x;
    if (next < chunks) sums.send(next);
    sums.add(chunk, next < chunks ? 1 : 0, false);
  }
  sums.tell_finished();
  sums.wait_finished(0);
  sums.keep();
}

/// As above, and a block takes the others' sums of a chunk when it has added the next one up.
template <typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads)
    relayed_two_shot(const __grid_constant__ AllReduceArguments arguments) {
  begin();
  SharedSums<T, kRanks> sums(arguments, true);
  const std::int64_t chunks = sums.chunks();
  std::int64_t last = -1;
  if (blockIdx.x < chunks) sums.send(blockIdx.x);
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const std::int64_t next = chunk + gridDim.x;
    if (next < chunks) sums.send(next);
    sums.add(chunk, next < chunks ? 1 : 0, true);
    sums.tell_finished();
    if (last >= 0) {
      sums.wait_finished(1);
      sums.take(last);
    }
    last = chunk;
  }
  if (last >= 0) {
    sums.wait_finished(0);
    sums.take(last);
  }
  sums.keep();
}

}  // namespace linkgain::kernels
