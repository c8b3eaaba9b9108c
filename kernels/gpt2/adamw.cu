#include <cuda_bf16.h>

#include "kernels/common/packs.cuh"
#include "kernels/common/pdl.cuh"
#include "kernels/gpt2/adamw.hpp"

namespace linkgain::kernels {
namespace {

// The squared norm of gradients, in two phases: blocks leave partial sums in scratch, which a
// second launch adds up in order.

/// One for each block of the first stage, at most: the threads of the second's only block.
constexpr int kMostPartials = 1024;
constexpr int kInFlight = 4;

/// Returns the sum over a block of whole warps, in its first thread.
__device__ double block_sum(double value) {
  __shared__ double sums[kWarpThreads];
  const unsigned lane = threadIdx.x % kWarpThreads;
  const unsigned warp = threadIdx.x / kWarpThreads;
  value = warp_sum(value);
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  if (warp > 0) return 0.0;
  return warp_sum(lane < blockDim.x / kWarpThreads ? sums[lane] : 0.0);
}

__device__ float squares_of(const Pack<float>& pack, float sum) {
#pragma unroll
  for (int e = 0; e < kPackElements<float>; ++e) {
    sum = fmaf(pack.elements[e], pack.elements[e], sum);
  }
  return sum;
}

/// Updates kInFlight packs a thread of each block, then the next that no block of the grid has.
__global__ void __launch_bounds__(kThreadsPerBlock)
    sum_squares(const float* values, Split split, double* partials) {
  pdl_trigger();
  const auto* packs = reinterpret_cast<const Pack<float>*>(values + split.head);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreadsPerBlock * kInFlight;
  std::int64_t start =
      static_cast<std::int64_t>(blockIdx.x) * kThreadsPerBlock * kInFlight + threadIdx.x;
  float sum = 0.0F;
  for (; start < split.packs; start += stride) {
    Pack<float> data[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const std::int64_t i = start + k * kThreadsPerBlock;
      if (i < split.packs) {
        data[k] = packs[i];
      } else {
        data[k] = {};
      }
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) sum = squares_of(data[k], sum);
  }
  const std::int64_t thread =
      static_cast<std::int64_t>(blockIdx.x) * kThreadsPerBlock + threadIdx.x;
  if (thread < split.head) sum = fmaf(values[thread], values[thread], sum);
  if (thread < split.tail) {
    const float value = values[split.head + split.packed + thread];
    sum = fmaf(value, value, sum);
  }
  const double total = block_sum(static_cast<double>(sum));
  if (threadIdx.x == 0) partials[blockIdx.x] = total;
}

/// Adds the partial sums by one block. Starts early.
__global__ void __launch_bounds__(kMostPartials)
    add_partial_sums(const double* partials, int count, float* sum) {
  pdl_wait();
  const int i = static_cast<int>(threadIdx.x);
  const double total = block_sum(i < count ? partials[i] : 0.0);
  if (i == 0) *sum = static_cast<float>(static_cast<double>(*sum) + total);
}

// The update.

constexpr double kNormGuard = 1e-6;  // as the model's clip_factor() has

/// AdamScalars as one element's arithmetic takes them.
struct AdamFactors {
  float beta1;
  float rest1;  ///< 1 - beta1
  float beta2;
  float rest2;
  float rate;                ///< learning_rate / correction1
  float inverse_correction;  ///< 1 / correction2
  float epsilon;
  float largest_norm;
};

AdamFactors factors_of(const AdamScalars& scalars) {
  return {static_cast<float>(scalars.beta1),
          static_cast<float>(1.0 - scalars.beta1),
          static_cast<float>(scalars.beta2),
          static_cast<float>(1.0 - scalars.beta2),
          static_cast<float>(scalars.learning_rate / scalars.correction1),
          static_cast<float>(1.0 / scalars.correction2),
          static_cast<float>(scalars.epsilon),
          static_cast<float>(scalars.largest_norm)};
}

__device__ float clip_factor(const AdamFactors& factors, float squared_norm) {
  const float norm = __fadd_rn(__fsqrt_rn(squared_norm), static_cast<float>(kNormGuard));
  return fminf(1.0F, __fdiv_rn(factors.largest_norm, norm));
}

/// Updates one element. Every operation is spelled out, so that packs and edges give the same bits
/// however the compiler would have contracted them.
__device__ void update(const AdamFactors& factors, float clip, float raw_gradient, float& parameter,
                       float& first, float& second) {
  const float gradient = __fmul_rn(clip, raw_gradient);
  first = __fmaf_rn(factors.beta1, first, __fmul_rn(factors.rest1, gradient));
  const float square = __fmul_rn(gradient, gradient);
  second = __fmaf_rn(factors.beta2, second, __fmul_rn(factors.rest2, square));
  const float deviation = __fsqrt_rn(__fmul_rn(second, factors.inverse_correction));
  const float change =
      __fdiv_rn(__fmul_rn(factors.rate, first), __fadd_rn(deviation, factors.epsilon));
  parameter = __fsub_rn(parameter, change);
}

using FloatPack = Pack<float>;
using CopyPack = Pack<__nv_bfloat16>;

template <typename PackType, typename Element>
__device__ PackType& pack_at(Element* data, std::int64_t position) {
  return *reinterpret_cast<PackType*>(data + position);
}

__global__ void __launch_bounds__(kThreadsPerBlock)
    update_elements(AdamRange range, Split split, AdamFactors factors, const float* squared_norm) {
  const float clip = clip_factor(factors, *squared_norm);
  auto* copy = static_cast<__nv_bfloat16*>(range.copy);
  walk<float>(
      split,
      [&](std::int64_t, std::int64_t position) {
        const FloatPack gradients = pack_at<const FloatPack>(range.gradients, position);
        FloatPack parameters = pack_at<FloatPack>(range.parameters, position);
        FloatPack first = pack_at<FloatPack>(range.first_moments, position);
        FloatPack second = pack_at<FloatPack>(range.second_moments, position);
        CopyPack rounded;
#pragma unroll
        for (int e = 0; e < kPackElements<float>; ++e) {
          update(factors, clip, gradients.elements[e], parameters.elements[e], first.elements[e],
                 second.elements[e]);
          rounded.elements[e] = __float2bfloat16_rn(parameters.elements[e]);
        }
        pack_at<FloatPack>(range.parameters, position) = parameters;
        pack_at<FloatPack>(range.first_moments, position) = first;
        pack_at<FloatPack>(range.second_moments, position) = second;
        if (copy != nullptr) pack_at<CopyPack>(copy, position) = rounded;
      },
      [&](std::int64_t i) {
        update(factors, clip, range.gradients[i], range.parameters[i], range.first_moments[i],
               range.second_moments[i]);
        if (copy != nullptr) copy[i] = __float2bfloat16_rn(range.parameters[i]);
      });
}

}  // namespace

std::int64_t squared_norm_scratch() {
  return kMostPartials * static_cast<std::int64_t>(sizeof(double));
}

cudaError_t add_squared_norm(const float* values, std::int64_t count, float* sum, void* scratch,
                             cudaStream_t stream) {
  if (count < 0) return cudaErrorInvalidValue;
  if (count == 0) return cudaSuccess;
  const Split parts = split<float>(values, count);
  constexpr std::int64_t kOfBlock = std::int64_t{kThreadsPerBlock} * kInFlight;
  const std::int64_t useful = divide_up(parts.packs, kOfBlock);
  const auto blocks = static_cast<unsigned>(
      std::max<std::int64_t>(1, std::min<std::int64_t>(useful, kMostPartials)));
  auto* partials = static_cast<double*>(scratch);
  sum_squares<<<blocks, kThreadsPerBlock, 0, stream>>>(values, parts, partials);
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) return status;
  return launch_pdl(add_partial_sums, 1U, static_cast<unsigned>(kMostPartials), stream, partials,
                    static_cast<int>(blocks), sum);
}

cudaError_t adam_update(const AdamRange& range, const AdamScalars& scalars,
                        const float* squared_norm, cudaStream_t stream) {
  if (range.count < 0) return cudaErrorInvalidValue;
  if (range.count == 0) return cudaSuccess;
  Split split = common_split(range.count, range.parameters, range.gradients, range.first_moments,
                             range.second_moments);
  if (range.copy != nullptr) {
    split = common_split(range.count, range.parameters, range.gradients, range.first_moments,
                         range.second_moments, static_cast<const __nv_bfloat16*>(range.copy));
  }
  update_elements<<<blocks_for_all(split), kThreadsPerBlock, 0, stream>>>(
      range, split, factors_of(scalars), squared_norm);
  return cudaGetLastError();
}

}  // namespace linkgain::kernels
