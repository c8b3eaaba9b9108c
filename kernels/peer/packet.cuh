#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/memory_order.cuh"
#include "kernels/common/wait.cuh"

// Data that travel with their flags, so that no fence stands between the two: whoever sees the flag
// of an operation has its data.
//
// LL: a flag beside every word of 4 bytes, written with it by one access of 8. Twice the bytes.
// LL16: three words and their flag by one access of 16. A third more bytes than the data.

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

inline constexpr int kLL16Vectors = 3;  ///< that go together
inline constexpr int kLL16Packets = 4;  ///< that they go in

struct LL16Group {
  uint4 vectors[kLL16Vectors];
};

/// Reads the vectors of group i, zeros from `end` on.
__device__ inline LL16Group read_group(const uint4* from, std::uint32_t i, std::uint32_t end) {
  LL16Group group{};
#pragma unroll
  for (int v = 0; v < kLL16Vectors; ++v) {
    if (kLL16Vectors * i + v < end) group.vectors[v] = from[kLL16Vectors * i + v];
  }
  return group;
}

__device__ inline void write_group(uint4* to, std::uint32_t i, std::uint32_t end,
                                   const LL16Group& group) {
#pragma unroll
  for (int v = 0; v < kLL16Vectors; ++v) {
    if (kLL16Vectors * i + v < end) to[kLL16Vectors * i + v] = group.vectors[v];
  }
}

/// Stores packets; those of one group lie `pitch` vectors apart, so that a warp's stores lie side
/// by side.
__device__ inline void store_packets(uint4* to, std::int64_t pitch, const LL16Group& group,
                                     std::uint32_t flag) {
  const uint4& a = group.vectors[0];
  const uint4& b = group.vectors[1];
  const uint4& c = group.vectors[2];
  store_whole(to, make_uint4(a.x, a.y, a.z, flag));
  store_whole(to + pitch, make_uint4(a.w, b.x, b.y, flag));
  store_whole(to + 2 * pitch, make_uint4(b.z, b.w, c.x, flag));
  store_whole(to + 3 * pitch, make_uint4(c.y, c.z, c.w, flag));
}

/// Returns the same address, but the compiler does not see how it came about: it keeps it in
/// registers instead of working it out again between loads that must be under way together.
__device__ inline const uint4* kept_in_registers(const uint4* address) {
  asm volatile("" : "+l"(address));
  return address;
}

/// Waits until all packets have the flag that is expected.
__device__ inline LL16Group wait_for_packets(const uint4* from, std::int64_t pitch,
                                             const WaitBound& bound, const Awaited& awaited) {
  const uint4* rows[kLL16Packets];
#pragma unroll
  for (int p = 0; p < kLL16Packets; ++p) rows[p] = kept_in_registers(from + p * pitch);
  uint4 packets[kLL16Packets];
  wait_until(
      [&] {
#pragma unroll
        for (int p = 0; p < kLL16Packets; ++p) packets[p] = load_whole(rows[p]);
      },
      [&] {
        bool complete = true;
#pragma unroll
        for (int p = 0; p < kLL16Packets; ++p) {
          complete = complete && packets[p].w == awaited.expected;
        }
        return complete;
      },
      bound, awaited, [&] { return packets[0].w; });
  LL16Group group;
  group.vectors[0] = make_uint4(packets[0].x, packets[0].y, packets[0].z, packets[1].x);
  group.vectors[1] = make_uint4(packets[1].y, packets[1].z, packets[2].x, packets[2].y);
  group.vectors[2] = make_uint4(packets[2].z, packets[3].x, packets[3].y, packets[3].z);
  return group;
}

}  // namespace linkgain::kernels
