#pragma once

#include <cstdint>

namespace linkgain::kernels {

/// Threads of a block of the all-reduce kernels, at most.
inline constexpr int kAllReduceThreads = 512;

/// Blocks of two_shot and ring for which a multiprocessor has registers.
inline constexpr int kBlocksEach = 2;

/// value / divisor, rounded up; neither is negative, the divisor not zero.
inline std::int64_t divide_up(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace linkgain::kernels
