#include <cuda_bf16.h>

#include "kernels/common/packs.cuh"
#include "kernels/gpt2/activation_vectors.cuh"
#include "kernels/gpt2/weights.hpp"

namespace linkgain::kernels {
namespace {

__global__ void __launch_bounds__(kThreadsPerBlock)
    round_elements(const float* values, __nv_bfloat16* copy, Split split) {
  walk<float>(
      split,
      [&](std::int64_t, std::int64_t position) {
        store_four(copy + position, load_four(values + position));
      },
      [&](std::int64_t i) { copy[i] = __float2bfloat16_rn(values[i]); });
}

__global__ void __launch_bounds__(kThreadsPerBlock)
    hash_elements(const float* values, std::int64_t first_index, Split split,
                  unsigned long long* hash) {
  std::uint64_t sum = 0;
  const auto take = [&](std::int64_t i, float value) {
    // -0 becomes 0.
    sum += hash_contribution(first_index + i, __float_as_uint(value + 0.0F));
  };
  walk<float>(
      split,
      [&](std::int64_t, std::int64_t position) {
        const float4 four = load_four(values + position);
        take(position, four.x);
        take(position + 1, four.y);
        take(position + 2, four.z);
        take(position + 3, four.w);
      },
      [&](std::int64_t i) { take(i, values[i]); });
  const auto total = warp_sum(static_cast<unsigned long long>(sum));
  if (threadIdx.x % kWarpThreads == 0) atomicAdd(hash, total);
}

__global__ void __launch_bounds__(kThreadsPerBlock)
    draw_weights(float* values, std::int64_t count, std::uint64_t seed, int tensor,
                 WeightDistribution distribution) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreadsPerBlock + threadIdx.x;
  if (i < count) values[i] = initial_weight(seed, tensor, i, distribution);
}

}  // namespace

cudaError_t copy_as_bfloat16(const float* values, void* copy, std::int64_t count,
                             cudaStream_t stream) {
  if (count < 0) return cudaErrorInvalidValue;
  if (count == 0) return cudaSuccess;
  auto* elements = static_cast<__nv_bfloat16*>(copy);
  const Split split = common_split(count, values, elements);
  round_elements<<<blocks_for_all(split), kThreadsPerBlock, 0, stream>>>(values, elements, split);
  return cudaGetLastError();
}

cudaError_t add_hash(const float* values, std::int64_t first_index, std::int64_t count,
                     std::uint64_t* hash, cudaStream_t stream) {
  static_assert(sizeof(std::uint64_t) == sizeof(unsigned long long));
  if (count < 0) return cudaErrorInvalidValue;
  if (count == 0) return cudaSuccess;
  const Split parts = split<float>(values, count);
  unsigned blocks = 0;
  const cudaError_t status = choose_blocks(parts, &blocks);
  if (status != cudaSuccess) return status;
  hash_elements<<<blocks, kThreadsPerBlock, 0, stream>>>(
      values, first_index, parts, reinterpret_cast<unsigned long long*>(hash));
  return cudaGetLastError();
}

cudaError_t fill_initial_weights(float* values, std::int64_t count, std::uint64_t seed, int tensor,
                                 const WeightDistribution& distribution, cudaStream_t stream) {
  if (count < 0) return cudaErrorInvalidValue;
  if (count == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>(divide_up(count, kThreadsPerBlock));
  draw_weights<<<blocks, kThreadsPerBlock, 0, stream>>>(values, count, seed, tensor, distribution);
  return cudaGetLastError();
}

}  // namespace linkgain::kernels
