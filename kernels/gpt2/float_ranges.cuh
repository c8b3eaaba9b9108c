#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/packs.cuh"

// Ranges of several flat buffers at once: packs where all of them are aligned at the same elements.

namespace linkgain::kernels {

/// Which element of a pack `data` is, that many elements beyond a multiple of a pack.
template <typename T>
std::int64_t place_in_pack(const T* data) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) % sizeof(Pack<T>) /
                                   sizeof(T));
}

/// How to walk `count` elements of all of `others` and `first`: as edge alone where they are not
/// equally aligned.
template <typename First, typename... Others>
Split common_split(std::int64_t count, const First* first, const Others*... others) {
  if (((place_in_pack(others) == place_in_pack(first)) && ...)) return split<First>(first, count);
  return {count, 0, 0, 0};
}

/// Blocks of kThreadsPerBlock so that each thread has one pack, or one element of an edge: many
/// small blocks walk memory in order.
inline unsigned blocks_for_all(const Split& split) {
  const std::int64_t threads = std::max({split.head, split.packs, split.tail});
  return static_cast<unsigned>(
      std::max<std::int64_t>(1, (threads + kThreadsPerBlock - 1) / kThreadsPerBlock));
}

}  // namespace linkgain::kernels
