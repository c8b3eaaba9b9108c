#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/all_reduce/layout.cuh"
#include "kernels/common/pdl.cuh"
#include "kernels/peer/signal.cuh"

// Every rank stores all its data into all others' scratch, then signals; whoever has all signals
// adds up. A block waits once, for its counterparts on all other ranks.

namespace linkgain::kernels {

/// Sends all chunks of a block and signals them at once. Items are of 16 bytes. Without a number of
/// blocks the compiler spills to make room for more.
template <typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads, 1)
    one_shot(const __grid_constant__ AllReduceArguments arguments) {
  pdl_trigger_then_wait();
  constexpr int kVectors = 1;
  const PeerSteps& peers = arguments.peers;
  const int rank = peers.rank;
  const std::uint32_t items = arguments.items;
  const std::uint32_t chunks = divide_up(items, blockDim.x);
  BlockSignals signals(peers, arguments.bound);
  const std::int64_t layout = arguments.layout;
  const std::int64_t buffers = buffers_of(signals, kRanks * layout);
  const auto* input = static_cast<const uint4*>(arguments.input);
  for (std::uint32_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      uint4* to = at<uint4>(peers.by_step[step].scratch, buffers) + rank * layout;
      copy_chunk<kVectors>(input, to, chunk, items);
    }
  }
  signals.signal<kRanks>(kSent);
  signals.wait<kRanks>(kSent);
  const uint4* received = at<uint4>(peers.by_step[0].scratch, buffers);
  auto* output = static_cast<uint4*>(peers.by_step[0].output);
  for (std::uint32_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    uint4 results[kVectors];
    add_up<T, kRanks, kVectors>(rank, input, received, layout, chunk, items, results);
    for_vectors<kVectors>(chunk, items, [&](int v, std::uint32_t i) { output[i] = results[v]; });
  }
  signals.commit();
}

template <>
struct KernelOf<AllReduceMethod::one_shot> {
  template <typename T, int kRanks>
  static AllReduceKernel get() {
    return one_shot<T, kRanks>;
  }
};

}  // namespace linkgain::kernels
