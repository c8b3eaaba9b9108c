#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/peer/peer_access.cuh"

// Vectors of 16 bytes, by chunks: what a block works on at a time, some vectors for each thread, a
// block's threads apart.

namespace linkgain::kernels {

/// Calls work(number, place) for this thread's kVectors vectors of a chunk, but for those from
/// `end` on.
template <int kVectors, typename Work>
__device__ void for_vectors(std::int64_t chunk, std::int64_t end, Work work) {
  const std::int64_t start = chunk * kVectors * blockDim.x + threadIdx.x;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t i = start + v * static_cast<std::int64_t>(blockDim.x);
    if (i < end) work(v, i);
  }
}

template <int kVectors>
__device__ void copy_chunk(const uint4* from, uint4* to, std::int64_t chunk, std::int64_t end) {
  uint4 data[kVectors];
  for_vectors<kVectors>(chunk, end, [&](int v, std::int64_t i) { data[v] = load_once(from + i); });
  for_vectors<kVectors>(chunk, end, [&](int v, std::int64_t i) { to[i] = data[v]; });
}

/// The sums of a chunk: this rank's own data and what the others have sent, each in `received` at
/// its sender's place of `pitch` vectors.
template <typename T, int kRanks, int kVectors>
__device__ void add_up(int rank, const uint4* own, const uint4* received, std::int64_t pitch,
                       std::int64_t chunk, std::int64_t end, uint4* results) {
  uint4 data[kVectors][kRanks];
  for_vectors<kVectors>(chunk, end, [&](int v, std::int64_t i) {
#pragma unroll
    for (int from = 0; from < kRanks; ++from) {
      data[v][from] = load_once(from == rank ? own + i : received + from * pitch + i);
    }
  });
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    Sums<T, 4> sums;
#pragma unroll
    for (int from = 0; from < kRanks; ++from) add(sums, data[v][from]);
    results[v] = rounded(sums);
  }
}

}  // namespace linkgain::kernels
