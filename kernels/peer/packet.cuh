#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/memory_order.cuh"
#include "kernels/common/wait.cuh"

// Data that travel with their flags, so that no fence stands between the two: whoever sees the flag
// of an operation has its data.
//
// LL: a flag beside every word of 4 bytes, written with it by one access of 8. Twice the bytes.

namespace linkgain::kernels {

/// Two words of data, each with its flag.
struct alignas(16) LLPacket {
  std::uint32_t first;
  std::uint32_t first_flag;
  std::uint32_t second;
  std::uint32_t second_flag;
};

__device__ inline void store_packet(LLPacket* to, const uint2& data, std::uint32_t flag) {
  store_pair(to, make_uint4(data.x, flag, data.y, flag));
}

/// Waits until both flags are what is expected.
__device__ inline uint2 wait_for_packet(const LLPacket* from, const WaitBound& bound,
                                        const Awaited& awaited) {
  uint4 packet;
  wait_until([&] { packet = load_pair(from); },
             [&] { return packet.y == awaited.expected && packet.w == awaited.expected; }, bound,
             awaited, [&] { return packet.y == awaited.expected ? packet.w : packet.y; });
  return make_uint2(packet.x, packet.z);
}

}  // namespace linkgain::kernels
