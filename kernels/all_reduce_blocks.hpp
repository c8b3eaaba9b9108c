#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace linkgain::kernels {

/// Threads of a block of the all-reduce kernels, at most.
inline constexpr int kAllReduceThreads = 512;

/// Blocks of two_shot and ring for which a multiprocessor has registers.
inline constexpr int kBlocksEach = 2;

/// Vectors in flight for each thread of a kernel in which a rank talks to all others, so that the
/// links' latency is covered.
constexpr int vectors_in_flight(int ranks) { return ranks == 2 ? 4 : (ranks <= 4 ? 2 : 1); }

/// Vectors of a line of memory. Shares and rows of scratch begin at one: stores that do not fill
/// their lines cost a link more.
inline constexpr std::int64_t kLineVectors = 8;

/// `vectors`, up to the end of their last line.
__host__ __device__ inline std::int64_t whole_lines(std::int64_t vectors) {
  return (vectors + kLineVectors - 1) / kLineVectors * kLineVectors;
}

/// value / divisor, rounded up; neither is negative, the divisor not zero.
inline std::int64_t divide_up(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace linkgain::kernels
