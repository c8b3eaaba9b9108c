#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/all_reduce/all_reduce.hpp"

namespace linkgain::kernels {

/// Threads of a block of the all-reduce kernels, at most.
inline constexpr int kAllReduceThreads = 512;

/// Blocks of two_shot and ring for which a multiprocessor has registers.
inline constexpr int kBlocksEach = 2;

/// Vectors in flight for each thread of a kernel in which a rank talks to all others, so that the
/// links' latency is covered.
constexpr int vectors_in_flight(int ranks) { return ranks == 2 ? 4 : (ranks <= 4 ? 2 : 1); }

/// value / divisor, rounded up; neither is negative, the divisor not zero.
__host__ __device__ inline std::int64_t divide_up(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

/// `vectors`, up to the end of their last line: shares and rows of scratch begin at one.
__host__ __device__ inline std::int64_t whole_lines(std::int64_t vectors) {
  constexpr std::int64_t kLineVectors = kLineBytes / kAllReduceAlignment;
  return divide_up(vectors, kLineVectors) * kLineVectors;
}

}  // namespace linkgain::kernels
