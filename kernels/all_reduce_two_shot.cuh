#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/all_reduce_arguments.hpp"
#include "kernels/all_reduce_blocks.hpp"
#include "kernels/block_state.cuh"
#include "kernels/ring_sums.cuh"
#include "kernels/shared_sums.cuh"

// All-reduce kernels that add up each share of the data on one rank or along the ring.

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

/// A block has two parts of the data under way in turn, so that it need not wait for what was only
/// just sent. Parts are large, as a flag holds a block up, and alike.
template <int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads, kBlocksEach)
    ring(const __grid_constant__ AllReduceArguments arguments) {
  begin();
  constexpr std::int64_t kMostChunks = 16;
  RingSums<kRanks> sums(arguments);
  const std::int64_t chunks = sums.chunks();
  const std::int64_t parts = 2 * static_cast<std::int64_t>(gridDim.x);
  const std::int64_t rounds = (chunks + parts * kMostChunks - 1) / (parts * kMostChunks);
  const std::int64_t size = (chunks + parts * rounds - 1) / (parts * rounds);
  const auto end_of = [&](std::int64_t first) { return min(first + size, chunks); };
  for (std::int64_t first = blockIdx.x * size; first < chunks; first += parts * size) {
    const std::int64_t second = first + gridDim.x * size;
    const bool two = second < chunks;
#pragma unroll 1
    for (int step = 0; step < RingSums<kRanks>::kSteps; ++step) {
      sums.take_step(step, first, end_of(first), two ? 1 : 0);
      if (two) sums.take_step(step, second, end_of(second), 1);
    }
  }
  sums.wait(0);
  sums.keep();
}

}  // namespace linkgain::kernels
