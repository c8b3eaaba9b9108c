#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/gpt2/activation_vectors.cuh"

// A row of a matrix in the registers of one warp: each thread has four neighbouring columns of
// every 128, so that float32 and bfloat16 rows are held alike.

namespace linkgain::kernels {

inline constexpr int kStepColumns = 4 * kWarpThreads;

/// Calls work(step, column) for this thread's columns.
template <int kSteps, typename Work>
__device__ void for_columns(int channels, Work work) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpThreads;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int column = step * kStepColumns + 4 * lane;
    if (column < channels) work(step, column);
  }
}

template <int kSteps>
struct RowOfWarp {
  float4 fours[kSteps];
};

/// Which of this thread's elements of the row that begins at element `first` are kept: bit 4 step +
/// e.
template <int kSteps>
__device__ std::uint32_t kept_of_row(const MatrixDropout& dropout, std::int64_t first,
                                     int channels) {
  static_assert(4 * kSteps <= 32);
  if (dropout.mask.threshold == 0) return 0xffffffffU;
  std::uint32_t bits = 0;
  for_columns<kSteps>(channels, [&](int step, int column) {
    bits |= kept_bits(dropout, first + column) << (4 * step);
  });
  return bits;
}

/// Returns work(std::integral_constant<int, steps>) with enough steps for the channels, of which
/// there are 1024 at most.
template <typename Work>
cudaError_t with_steps(int channels, Work work) {
  if (channels <= 1 * kStepColumns) return work(std::integral_constant<int, 1>{});
  if (channels <= 2 * kStepColumns) return work(std::integral_constant<int, 2>{});
  if (channels <= 4 * kStepColumns) return work(std::integral_constant<int, 4>{});
  if (channels <= 6 * kStepColumns) return work(std::integral_constant<int, 6>{});
  return work(std::integral_constant<int, 8>{});
}

__device__ inline float sum_of(const float4& four) { return (four.x + four.y) + (four.z + four.w); }

}  // namespace linkgain::kernels
