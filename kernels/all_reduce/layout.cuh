#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/all_reduce/methods.hpp"
#include "kernels/common/element.cuh"
#include "kernels/common/math.hpp"
#include "kernels/common/mutant.hpp"
#include "kernels/common/vectors.cuh"
#include "kernels/common/wait_report.hpp"
#include "kernels/peer/peer_regions.hpp"

// What the all-reduce kernels are launched with, how data lie in scratch, and sums of them.

namespace linkgain::kernels {

/// What every thread reads stands close together, at the beginning: a launch's arguments are in no
/// cache yet, and small operations wait for each line of them.
struct AllReduceArguments {
  // Both of the size that the method goes by, padding included.
  std::uint32_t items;   ///< of this operation
  std::uint32_t layout;  ///< of the largest one that shares the scratch, up to a whole line
  const void* input;
  WaitBound bound;  ///< of every wait for another rank
  PeerSteps peers;
};

using AllReduceKernel = void (*)(const AllReduceArguments);

/// Each method's file says with get<T, kRanks>() which is its kernel.
template <AllReduceMethod kMethod>
struct KernelOf;

/// Returns vectors in flight for each thread of a kernel in which a rank talks to all others, so
/// that the links' latency is covered.
LINKGAIN_BOTH constexpr int vectors_in_flight(int ranks) {
  return ranks == 2 ? 4 : (ranks <= 4 ? 2 : 1);
}

/// Returns blocks of two_shot for which a multiprocessor keeps registers. A thread has vectors of
/// all ranks in flight, for which half of them are too few from six ranks on.
constexpr int two_shot_blocks(int ranks) { return ranks <= 5 ? 2 : 1; }

/// The same of sentinels between two ranks.
inline constexpr int kSentinelBlocks = 2;

/// The same of ring, which is launched with one. Of sm_100's and sm_120's registers half are too
/// few for it: it spills 384 bytes or more there, and nothing elsewhere.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
inline constexpr int kRingBlocks = 1;
#else
inline constexpr int kRingBlocks = 2;
#endif

/// Data of so many vectors of 16 bytes as a share for each rank: of `pitch` vectors, or what is
/// left. The pitch, in whole lines, is that of `layout` vectors, no fewer, so that operations that
/// share scratch have the same.
template <int kRanks>
class Shares {
 public:
  __device__ Shares(std::uint32_t items, std::uint32_t layout)
      : items_(items),
        pitch_(static_cast<std::uint32_t>(whole_lines(divide_up(std::int64_t{layout}, kRanks)))) {}

  __device__ std::int64_t pitch() const { return pitch_; }
  __device__ std::int64_t first_of(int share) const {
    return std::int64_t{pitch_} * static_cast<std::uint32_t>(share);
  }
  __device__ std::uint32_t count_of(int share) const {
    std::int64_t left = std::int64_t{items_} - first_of(share);
    if constexpr (kMutant == Mutant::wrong_share_end) --left;
    return static_cast<std::uint32_t>(min(max(left, std::int64_t{0}), pitch()));
  }
  /// Returns the chunks of a share, with so many vectors for each thread.
  __device__ std::uint32_t chunks(int vectors) const {
    return divide_up(pitch_, blockDim.x * vectors);
  }

 private:
  // They have 32 bits, as their products then take fewer registers.
  std::uint32_t items_;
  std::uint32_t pitch_;
};

/// Returns the sums of a chunk: this rank's own data and what the others have sent, each in
/// `received` at its sender's place of `pitch` vectors.
template <typename T, int kRanks, int kVectors>
__device__ void add_up(int rank, const uint4* own, const uint4* received, std::int64_t pitch,
                       std::uint32_t chunk, std::uint32_t end, uint4* results) {
  uint4 data[kVectors][kRanks];
  for_vectors<kVectors>(chunk, end, [&](int v, std::uint32_t i) {
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
