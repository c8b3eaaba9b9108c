#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/all_reduce/arguments.hpp"
#include "kernels/all_reduce/blocks.hpp"
#include "kernels/all_reduce/ring_sums.cuh"
#include "kernels/peer/signal.cuh"

// The all-reduce kernel that adds up each share of the data along the ring of ranks.

namespace linkgain::kernels {

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
  const std::int64_t rounds = divide_up(chunks, parts * kMostChunks);
  const std::int64_t size = divide_up(chunks, parts * rounds);
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
