#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/memory_order.cuh"
#include "kernels/common/wait.cuh"

// Data that need no flags: what waits for them holds a sentinel in every word, which no sender
// stores. Whoever sees anything else in a word has that word's data, whatever becomes of its
// neighbours.

namespace linkgain::kernels {

/// All bits set: a NaN in float32, and two of them in half precision.
inline constexpr std::uint32_t kSentinel = 0xffffffffU;
inline constexpr int kSentinelByte = 0xff;

/// Sets of buffers that take turns; see all_reduce/sentinel.cuh.
inline constexpr std::uint32_t kSentinelSets = kMutant == Mutant::two_sets ? 2 : 3;

/// Returns another NaN for the sentinel: sums of either are the same one.
__device__ inline std::uint32_t without_sentinel(std::uint32_t word) {
  return word == kSentinel ? kSentinel - 1 : word;
}

/// Stores four words into another rank's memory.
__device__ inline void store_words(uint4* to, const uint4& data) {
  store_relaxed(to, make_uint4(without_sentinel(data.x), without_sentinel(data.y),
                               without_sentinel(data.z), without_sentinel(data.w)));
}

__device__ inline void clear_words(uint4* place) {
  if constexpr (kMutant == Mutant::no_clear) return;
  store_relaxed(place, make_uint4(kSentinel, kSentinel, kSentinel, kSentinel));
}

__device__ inline bool has_all_words(const uint4& data) {
  return data.x != kSentinel && data.y != kSentinel && data.z != kSentinel && data.w != kSentinel;
}

/// Vectors that are waited for together.
template <int kCount>
struct Vectors {
  uint4 of[kCount];
};

/// Waits for the words of those of kCount vectors, `pitch` apart, that are needed(number). Asks for
/// all of them at once.
template <int kCount, typename Needed>
__device__ Vectors<kCount> wait_for_words(const uint4* first, std::int64_t pitch, Needed needed,
                                          const WaitBound& bound, const Awaited& awaited) {
  Vectors<kCount> data;
  wait_until(
      [&] {
#pragma unroll
        for (int v = 0; v < kCount; ++v) {
          if (needed(v)) data.of[v] = load_relaxed(first + v * pitch);
        }
      },
      [&] {
        bool complete = true;
#pragma unroll
        for (int v = 0; v < kCount; ++v) {
          complete = complete && (!needed(v) || has_all_words(data.of[v]));
        }
        return complete;
      },
      bound, awaited, [&] { return kSentinel; });
  return data;
}

}  // namespace linkgain::kernels
