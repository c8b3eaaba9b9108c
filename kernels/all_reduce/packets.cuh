#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/all_reduce/layout.cuh"
#include "kernels/common/pdl.cuh"
#include "kernels/peer/packet.cuh"
#include "kernels/peer/signal.cuh"

// Every rank stores its data into all others' scratch, with flags in them: ll, ll16. One phase. A
// thread waits for the packets of its own items, and for nothing else. The state is committed while
// they are on their way: what comes after them is what an operation takes longer by.

namespace linkgain::kernels {

/// Items are of 8 bytes. Without a number of blocks the compiler spills to make room for more.
template <typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads, 1)
    ll(const __grid_constant__ AllReduceArguments arguments) {
  pdl_trigger_then_wait();
  const PeerRegions& regions = arguments.regions;
  const int rank = regions.rank;
  const std::int64_t items = arguments.items;
  const uint2* input = at<uint2>(regions.data[rank], arguments.offsets.input);
  uint2* output = at<uint2>(regions.data[rank], arguments.offsets.output);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const uint2 first_item = first < items ? input[first] : uint2{};
  BlockSignals signals(regions, arguments.bound);
  const std::int64_t layout = arguments.layout;
  const std::int64_t buffers = buffers_of(signals, kRanks * layout);
  for (std::int64_t i = first; i < items; i += stride) {
    const uint2 own = i == first ? first_item : input[i];
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      const int peer = (rank + step) % kRanks;
      store_packet(at<LLPacket>(regions.scratch[peer], buffers) + rank * layout + i, own,
                   signals.flag());
    }
  }
  signals.commit();
  const LLPacket* received = at<LLPacket>(regions.scratch[rank], buffers);
  for (std::int64_t i = first; i < items; i += stride) {
    const uint2 own = i == first ? first_item : input[i];
    Sums<T, 2> sums;
    const auto add = [&](const uint2& data) {
      sums.add(0, data.x);
      sums.add(1, data.y);
    };
    const auto data_of = [&](int peer) {
      return wait_for_packet(received + peer * layout + i, arguments.bound,
                             signals.awaits_packet_of(peer));
    };
    if constexpr (kRanks == 2) {
      // A sum of two has no order: there is one wait, and little code behind it.
      add(own);
      add(data_of(1 - rank));
    } else {
#pragma unroll
      for (int from = 0; from < kRanks; ++from) add(from == rank ? own : data_of(from));
    }
    output[i] = make_uint2(sums.rounded(0), sums.rounded(1));
  }
}

/// Items are of 16 bytes, three at a time.
template <typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads)
    ll16(const __grid_constant__ AllReduceArguments arguments) {
  pdl_trigger_then_wait();
  const PeerRegions& regions = arguments.regions;
  const int rank = regions.rank;
  const std::int64_t items = arguments.items;
  const std::int64_t groups = divide_up(items, kLL16Vectors);
  const std::int64_t pitch = whole_lines(groups);
  const uint4* input = at<uint4>(regions.data[rank], arguments.offsets.input);
  uint4* output = at<uint4>(regions.data[rank], arguments.offsets.output);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const LL16Group first_group = first < groups ? read_group(input, first, items) : LL16Group{};
  BlockSignals signals(regions, arguments.bound);
  const std::int64_t buffers = buffers_of(signals, kRanks * kLL16Packets * pitch);
  for (std::int64_t i = first; i < groups; i += stride) {
    const LL16Group own = i == first ? first_group : read_group(input, i, items);
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      const int peer = (rank + step) % kRanks;
      uint4* to = at<uint4>(regions.scratch[peer], buffers) + rank * kLL16Packets * pitch + i;
      store_packets(to, pitch, own, signals.flag());
    }
  }
  signals.commit();
  const uint4* received = at<uint4>(regions.scratch[rank], buffers);
  for (std::int64_t i = first; i < groups; i += stride) {
    const LL16Group own = i == first ? first_group : read_group(input, i, items);
    Sums<T, 4> sums[kLL16Vectors];
#pragma unroll
    for (int from = 0; from < kRanks; ++from) {
      const LL16Group data =
          from == rank ? own
                       : wait_for_packets(received + from * kLL16Packets * pitch + i, pitch,
                                          arguments.bound, signals.awaits_packet_of(from));
#pragma unroll
      for (int v = 0; v < kLL16Vectors; ++v) add(sums[v], data.vectors[v]);
    }
    LL16Group result;
#pragma unroll
    for (int v = 0; v < kLL16Vectors; ++v) result.vectors[v] = rounded(sums[v]);
    write_group(output, i, items, result);
  }
}

template <>
struct KernelOf<AllReduceMethod::ll> {
  template <typename T, int kRanks>
  static AllReduceKernel get() {
    return ll<T, kRanks>;
  }
};

template <>
struct KernelOf<AllReduceMethod::ll16> {
  template <typename T, int kRanks>
  static AllReduceKernel get() {
    return ll16<T, kRanks>;
  }
};

}  // namespace linkgain::kernels
