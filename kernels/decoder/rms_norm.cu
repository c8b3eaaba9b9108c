#include <algorithm>

#include "kernels/common/math.hpp"
#include "kernels/decoder/rms_norm.hpp"
#include "kernels/gpt2/activation_vectors.cuh"

namespace linkgain::kernels {
namespace {

constexpr int kMostThreads = 1024;
constexpr std::int64_t kMostRows = 0x7fffffff;  // blocks of a grid

/// Returns the sum over the block, in every thread; blocks are whole warps.
__device__ float sum_of_block(float value) {
  __shared__ float sums[kMostThreads / kWarpThreads];
  const unsigned lane = threadIdx.x % kWarpThreads;
  value = warp_sum(value);
  if (lane == 0) sums[threadIdx.x / kWarpThreads] = value;
  __syncthreads();
  return warp_sum(lane < blockDim.x / kWarpThreads ? sums[lane] : 0.0F);
}

__device__ float square(std::uint32_t word) {
  const float2 pair = floats_of(word);
  return pair.x * pair.x + pair.y * pair.y;
}

__device__ std::uint32_t scaled(std::uint32_t word, std::uint32_t weight, float scale) {
  const float2 value = floats_of(word);
  const float2 by = floats_of(weight);
  return rounded_word(value.x * scale * by.x, value.y * scale * by.y);
}

__global__ void __launch_bounds__(kMostThreads)
    rms_norm_kernel(const uint4* input, const uint4* weight, uint4* output, int vectors,
                    float epsilon) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * vectors;
  const int threads = static_cast<int>(blockDim.x);
  float squares = 0.0F;
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += threads) {
    const uint4 vector = input[row + i];
    squares += (square(vector.x) + square(vector.y)) + (square(vector.z) + square(vector.w));
  }
  const float mean = sum_of_block(squares) / static_cast<float>(vectors * kRmsNormStep);
  const float scale = 1.0F / sqrtf(mean + epsilon);
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += threads) {
    const uint4 vector = input[row + i];
    const uint4 by = weight[i];
    output[row + i] = make_uint4(scaled(vector.x, by.x, scale), scaled(vector.y, by.y, scale),
                                 scaled(vector.z, by.z, scale), scaled(vector.w, by.w, scale));
  }
}

}  // namespace

cudaError_t rms_norm(const void* input, const void* weight, void* output, std::int64_t rows,
                     int hidden, float epsilon, cudaStream_t stream) {
  const bool fits = rows >= 0 && rows <= kMostRows && hidden > 0 && hidden % kRmsNormStep == 0;
  if (!fits || !are_aligned(input, weight, output)) return cudaErrorInvalidValue;
  if (rows == 0) return cudaSuccess;
  const int vectors = hidden / kRmsNormStep;
  const int threads = std::min(kMostThreads, divide_up(vectors, kWarpThreads) * kWarpThreads);
  rms_norm_kernel<<<static_cast<unsigned>(rows), static_cast<unsigned>(threads), 0, stream>>>(
      static_cast<const uint4*>(input), static_cast<const uint4*>(weight),
      static_cast<uint4*>(output), vectors, epsilon);
  return cudaGetLastError();
}

}  // namespace linkgain::kernels
