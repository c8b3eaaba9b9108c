#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/all_reduce/arguments.hpp"
#include "kernels/all_reduce/blocks.hpp"
#include "kernels/common/element_types.cuh"
#include "kernels/peer/chunks.cuh"
#include "kernels/peer/packet.cuh"
#include "kernels/peer/peer_access.cuh"
#include "kernels/peer/signal.cuh"

// All-reduce kernels in which every rank sends all its data to every other one.

namespace linkgain::kernels {

/// Items are of 8 bytes.
template <typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads)
    low_latency(const __grid_constant__ AllReduceArguments arguments) {
  begin();
  const PeerRegions& regions = arguments.regions;
  const int rank = regions.rank;
  const std::int64_t items = arguments.items;
  const uint2* input = at<uint2>(regions.data[rank], arguments.offsets.input);
  uint2* output = at<uint2>(regions.data[rank], arguments.offsets.output);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const uint2 first_item = first < items ? input[first] : uint2{};
  BlockState state(regions);
  const std::int64_t layout = arguments.layout;
  const std::int64_t buffers = buffers_of(state, kRanks * layout);
  for (std::int64_t i = first; i < items; i += stride) {
    const uint2 own = i == first ? first_item : input[i];
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      const int peer = (rank + step) % kRanks;
      store_flagged(at<FlaggedWords>(regions.scratch[peer], buffers) + rank * layout + i, own.x,
                    own.y, state.flag());
    }
  }
  const FlaggedWords* received = at<FlaggedWords>(regions.scratch[rank], buffers);
  for (std::int64_t i = first; i < items; i += stride) {
    const uint2 own = i == first ? first_item : input[i];
    Sums<T, 2> sums;
#pragma unroll
    for (int from = 0; from < kRanks; ++from) {
      const uint2 data =
          from == rank ? own : load_flagged(received + from * layout + i, state.flag());
      sums.add(0, data.x);
      sums.add(1, data.y);
    }
    output[i] = make_uint2(sums.rounded(0), sums.rounded(1));
  }
  state.keep();
}

/// Items are of 16 bytes, three at a time.
template <typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads)
    low_latency_wide(const __grid_constant__ AllReduceArguments arguments) {
  begin();
  const PeerRegions& regions = arguments.regions;
  const int rank = regions.rank;
  const std::int64_t items = arguments.items;
  const std::int64_t triples = divide_up(items, kTriple);
  const std::int64_t pitch = whole_lines(triples);
  const uint4* input = at<uint4>(regions.data[rank], arguments.offsets.input);
  uint4* output = at<uint4>(regions.data[rank], arguments.offsets.output);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const Triple first_triple = first < triples ? read_triple(input, first, items) : Triple{};
  BlockState state(regions);
  const std::int64_t buffers = buffers_of(state, kRanks * kPackets * pitch);
  for (std::int64_t i = first; i < triples; i += stride) {
    const Triple own = i == first ? first_triple : read_triple(input, i, items);
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      const int peer = (rank + step) % kRanks;
      uint4* to = at<uint4>(regions.scratch[peer], buffers) + rank * kPackets * pitch + i;
      send_triple(to, pitch, own, state.flag());
    }
  }
  const uint4* received = at<uint4>(regions.scratch[rank], buffers);
  for (std::int64_t i = first; i < triples; i += stride) {
    const Triple own = i == first ? first_triple : read_triple(input, i, items);
    Sums<T, 4> sums[kTriple];
#pragma unroll
    for (int from = 0; from < kRanks; ++from) {
      const Triple data = from == rank ? own
                                       : receive_triple(received + from * kPackets * pitch + i,
                                                        pitch, state.flag());
#pragma unroll
      for (int v = 0; v < kTriple; ++v) add(sums[v], data.vectors[v]);
    }
    Triple result;
#pragma unroll
    for (int v = 0; v < kTriple; ++v) result.vectors[v] = rounded(sums[v]);
    write_triple(output, i, items, result);
  }
  state.keep();
}

/// A block sends all its chunks and tells of them at once. Items are of 16 bytes.
template <typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads)
    one_shot(const __grid_constant__ AllReduceArguments arguments) {
  begin();
  constexpr int kVectors = 1;
  const PeerRegions& regions = arguments.regions;
  const int rank = regions.rank;
  const std::int64_t items = arguments.items;
  const std::int64_t chunks = divide_up(items, blockDim.x);
  BlockState state(regions);
  const std::int64_t layout = arguments.layout;
  const std::int64_t buffers = buffers_of(state, kRanks * layout);
  const uint4* input = at<uint4>(regions.data[rank], arguments.offsets.input);
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      const int peer = (rank + step) % kRanks;
      uint4* to = at<uint4>(regions.scratch[peer], buffers) + rank * layout;
      copy_chunk<kVectors>(input, to, chunk, items);
    }
  }
  state.tell<kRanks>(regions, kSent);
  state.wait<kRanks>(regions, kSent);
  const uint4* received = at<uint4>(regions.scratch[rank], buffers);
  uint4* output = at<uint4>(regions.data[rank], arguments.offsets.output);
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    uint4 results[kVectors];
    add_up<T, kRanks, kVectors>(rank, input, received, layout, chunk, items, results);
    for_vectors<kVectors>(chunk, items, [&](int v, std::int64_t i) { output[i] = results[v]; });
  }
  state.keep();
}

}  // namespace linkgain::kernels
