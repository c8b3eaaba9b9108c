#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/peer/peer_access.cuh"

// Three vectors of data on their way as four packets, each of three words and a flag: a third more
// bytes than the data, and no fence between data and flag.

namespace linkgain::kernels {

inline constexpr int kTriple = 3;   ///< vectors that go together
inline constexpr int kPackets = 4;  ///< that they go in

struct Triple {
  uint4 vectors[kTriple];
};

/// The vectors from kTriple * i on, zeros from `end` on.
__device__ inline Triple read_triple(const uint4* from, std::int64_t i, std::int64_t end) {
  Triple triple{};
#pragma unroll
  for (int v = 0; v < kTriple; ++v) {
    if (kTriple * i + v < end) triple.vectors[v] = from[kTriple * i + v];
  }
  return triple;
}

__device__ inline void write_triple(uint4* to, std::int64_t i, std::int64_t end,
                                    const Triple& triple) {
#pragma unroll
  for (int v = 0; v < kTriple; ++v) {
    if (kTriple * i + v < end) to[kTriple * i + v] = triple.vectors[v];
  }
}

/// Packets of one triple lie `pitch` vectors apart, so that a warp's stores lie side by side.
__device__ inline void send_triple(uint4* to, std::int64_t pitch, const Triple& triple,
                                   std::uint32_t flag) {
  const uint4& a = triple.vectors[0];
  const uint4& b = triple.vectors[1];
  const uint4& c = triple.vectors[2];
  store_triple(to, a.x, a.y, a.z, flag);
  store_triple(to + pitch, a.w, b.x, b.y, flag);
  store_triple(to + 2 * pitch, b.z, b.w, c.x, flag);
  store_triple(to + 3 * pitch, c.y, c.z, c.w, flag);
}

/// Waits until all packets are there.
__device__ inline Triple receive_triple(const uint4* from, std::int64_t pitch, std::uint32_t flag) {
  uint4 packets[kPackets];
  bool complete = false;
  while (!complete) {
    complete = true;
#pragma unroll
    for (int p = 0; p < kPackets; ++p) packets[p] = load_triple(from + p * pitch);
#pragma unroll
    for (int p = 0; p < kPackets; ++p) complete = complete && packets[p].w == flag;
  }
  Triple triple;
  triple.vectors[0] = make_uint4(packets[0].x, packets[0].y, packets[0].z, packets[1].x);
  triple.vectors[1] = make_uint4(packets[1].y, packets[1].z, packets[2].x, packets[2].y);
  triple.vectors[2] = make_uint4(packets[2].z, packets[3].x, packets[3].y, packets[3].z);
  return triple;
}

}  // namespace linkgain::kernels
