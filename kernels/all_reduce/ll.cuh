#pragma once

#include <cstdint>

#include "kernels/all_reduce/block.cuh"

// Every rank stores its data into all others' scratch, with flags in them: ll. One phase. A
// thread waits for the packets of its own items, and for nothing else. The state is committed while
// they are on their way: what comes after them is what an operation takes longer by.

namespace linkgain::kernels {

/// Adds what every rank has, its own or data_of(peer), in the order of the ranks, so that all have
/// the same sum.
template <int kRanks, typename Data, typename DataOf, typename Add>
__device__ void add_in_order(int rank, const Data& own, DataOf data_of, Add add) {
  if constexpr (kRanks == 2) {
    // A sum of two has no order: there is one wait, and little code behind it.
    add(own);
    add(data_of(1 - rank));
  } else {
#pragma unroll
    for (int from = 0; from < kRanks; ++from) add(from == rank ? own : data_of(from));
  }
}

/// Reduces by items of 8 bytes, in the order of the ranks, so that all have the same sum.
template <typename T, int kRanks>
__device__ void ll(const AllReduceArguments& arguments) {
  const PeerSteps& peers = arguments.peers;
  const int rank = peers.rank;
  const std::uint32_t items = arguments.items;
  const auto* input = static_cast<const uint2*>(arguments.input);
  auto* output = static_cast<uint2*>(peers.by_step[0].output);
  const std::uint32_t first = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t stride = gridDim.x * blockDim.x;
  const uint2 first_item = first < items ? input[first] : uint2{};
  const std::uint32_t layout = arguments.layout;
  Block<kRanks> block(arguments, std::int64_t{layout} * kRanks);
  // Where a sender's packets begin: a product of 32 bits, which takes one instruction.
  const auto row_of = [&](int sender) {
    return std::uint64_t{layout} * static_cast<std::uint32_t>(sender);
  };
  for (std::uint32_t i = first; i < items; i += stride) {
    const uint2 own = i == first ? first_item : input[i];
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      store_packet(block.template buffers<LLPacket>(step) + row_of(rank) + i, own, block.flag());
    }
  }
  block.commit();
  const LLPacket* received = block.template buffers<LLPacket>(0);
  for (std::uint32_t i = first; i < items; i += stride) {
    const uint2 own = i == first ? first_item : input[i];
    Sums<T, 2> sums;
    const auto add = [&](const uint2& data) {
      sums.add(0, data.x);
      sums.add(1, data.y);
    };
    const auto data_of = [&](int peer) {
      return wait_for_packet(received + row_of(peer) + i, arguments.bound,
                             Awaited{WaitPhase::packet, peer, block.flag()});
    };
    add_in_order<kRanks>(rank, own, data_of, add);
    output[i] = make_uint2(sums.rounded(0), sums.rounded(1));
  }
}

}  // namespace linkgain::kernels
