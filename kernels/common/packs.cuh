#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "kernels/common/device_attribute.hpp"
#include "kernels/common/math.hpp"

// How kernels walk arrays that begin anywhere: by aligned packs of some elements, one memory access
// each, grid-stride; and the edges before and after them, which fewer threads than one block has
// take one by one.

namespace linkgain::kernels {

inline constexpr int kThreadsPerBlock = 256;

template <typename T>
inline constexpr int kPackElements = sizeof(T) == 8 ? 2 : 4;

template <typename T>
struct alignas(sizeof(T) * kPackElements<T>) Pack {
  T elements[kPackElements<T>];
};

/// An array of head + packs * kPackElements + tail elements, the packs aligned.
struct Split {
  std::int64_t head;
  std::int64_t packs;
  std::int64_t packed;  ///< elements in packs
  std::int64_t tail;
};

template <typename T>
Split split(const void* data, std::int64_t count) {
  const auto beyond = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) %
                                                sizeof(Pack<T>) / sizeof(T));
  const std::int64_t to_alignment = beyond == 0 ? 0 : kPackElements<T> - beyond;
  const std::int64_t head = std::min(count, to_alignment);
  const std::int64_t packs = (count - head) / kPackElements<T>;
  const std::int64_t packed = packs * kPackElements<T>;
  return {head, packs, packed, count - head - packed};
}

/// Calls visit_pack(number of the pack, position of its first element) for this thread's packs and
/// visit_edge(position) for its element of the edges.
template <typename T, typename VisitPack, typename VisitEdge>
__device__ void walk(const Split& split, VisitPack visit_pack, VisitEdge visit_edge) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t pack = thread; pack < split.packs; pack += threads) {
    visit_pack(pack, split.head + pack * kPackElements<T>);
  }
  if (thread < split.head) visit_edge(thread);
  if (thread < split.tail) visit_edge(split.head + split.packed + thread);
}

/// Returns blocks of kThreadsPerBlock for an array: enough to fill the current device, no more than
/// there is work for, at least one.
inline cudaError_t choose_blocks(const Split& split, unsigned* blocks) {
  constexpr std::int64_t kBlocksPerMultiprocessor = 8;
  int multiprocessors = 0;
  const cudaError_t status = device_attribute(cudaDevAttrMultiProcessorCount, &multiprocessors);
  if (status != cudaSuccess) return status;
  const std::int64_t needed = divide_up(split.packs, kThreadsPerBlock);
  const std::int64_t most = kBlocksPerMultiprocessor * multiprocessors;
  *blocks = static_cast<unsigned>(std::max<std::int64_t>(1, std::min(needed, most)));
  return cudaSuccess;
}

// Ranges of several flat buffers at once: packs where all of them are aligned at the same elements.

/// Returns which element of a pack `data` is, that many elements beyond a multiple of a pack.
template <typename T>
std::int64_t place_in_pack(const T* data) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) % sizeof(Pack<T>) /
                                   sizeof(T));
}

/// Returns how to walk `count` elements of all of `others` and `first`: as edge alone where they
/// are not equally aligned.
template <typename First, typename... Others>
Split common_split(std::int64_t count, const First* first, const Others*... others) {
  if (((place_in_pack(others) == place_in_pack(first)) && ...)) return split<First>(first, count);
  return {count, 0, 0, 0};
}

/// Returns blocks of kThreadsPerBlock so that each thread has one pack, or one element of an edge:
/// many small blocks walk memory in order.
inline unsigned blocks_for_all(const Split& split) {
  const std::int64_t threads = std::max({split.head, split.packs, split.tail});
  return static_cast<unsigned>(std::max<std::int64_t>(1, divide_up(threads, kThreadsPerBlock)));
}

}  // namespace linkgain::kernels
