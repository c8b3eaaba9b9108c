#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/pdl.cuh"
#include "kernels/gpt2/activation_vectors.cuh"
#include "kernels/gpt2/bias_gradient.hpp"

// The second stage of sums over columns: the first leaves rows of partial sums in scratch.

namespace linkgain::kernels {

/// Where sums of columns go: `width` columns to each, one after the other.
struct SumTargets {
  float* sums[3];
  int width;
};

inline constexpr int kSumWarps = 16;
inline constexpr int kRowsOfSumWarp = kMostPartialRows / kSumWarps;

/// A block for 32 columns, a column for each thread of a warp; a warp has every 16th row, all of
/// them in flight at once. Comes up while the first stage ends, and waits for that.
static __global__ void __launch_bounds__(kSumWarps* kWarpThreads)
    sum_partial_rows(const float* partials, int rows, int pitch, int columns, SumTargets targets) {
  __shared__ float sums[kSumWarps][kWarpThreads];
  pdl_wait_then_trigger();
  const int lane = static_cast<int>(threadIdx.x) % kWarpThreads;
  const int warp = static_cast<int>(threadIdx.x) / kWarpThreads;
  const int column = static_cast<int>(blockIdx.x) * kWarpThreads + lane;
  float values[kRowsOfSumWarp];
#pragma unroll
  for (int k = 0; k < kRowsOfSumWarp; ++k) {
    const int row = k * kSumWarps + warp;
    const bool is_there = row < rows && column < columns;
    values[k] = is_there ? partials[static_cast<std::int64_t>(row) * pitch + column] : 0.0F;
  }
  float sum = values[0];
#pragma unroll
  for (int k = 1; k < kRowsOfSumWarp; ++k) sum += values[k];
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || column >= columns) return;
#pragma unroll
  for (int other = 1; other < kSumWarps; ++other) sum += sums[other][lane];
  const int target = column / targets.width;
  float* const to = target == 0 ? targets.sums[0] : target == 1 ? targets.sums[1] : targets.sums[2];
  to[column - target * targets.width] = sum;
}

/// Enqueues the second stage for the first `columns` columns, width * targets in use, of `rows`
/// rows of partial sums, at most kMostPartialRows, that lie `pitch` apart.
inline cudaError_t launch_sum_partial_rows(const float* partials, int rows, int pitch, int columns,
                                           const SumTargets& targets, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(divide_up(columns, kWarpThreads));
  return launch_pdl(sum_partial_rows, blocks, kSumWarps * kWarpThreads, stream, partials, rows,
                    pitch, columns, targets);
}

}  // namespace linkgain::kernels
