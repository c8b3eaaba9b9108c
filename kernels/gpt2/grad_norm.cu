#include "kernels/common/pdl.cuh"
#include "kernels/common/vectors.cuh"
#include "kernels/gpt2/activation_vectors.cuh"
#include "kernels/gpt2/adamw.hpp"

namespace linkgain::kernels {
namespace {

/// One for each block of the first stage, at most: the threads of the second's only block.
constexpr int kMostPartials = 1024;
constexpr int kInFlight = 4;

/// The sum over a block of whole warps, in its first thread.
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

/// Each block takes kInFlight packs a thread, then the next that no block of the grid has.
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

/// One block. Comes up early.
__global__ void __launch_bounds__(kMostPartials)
    add_partial_sums(const double* partials, int count, float* sum) {
  pdl_wait();
  const int i = static_cast<int>(threadIdx.x);
  const double total = block_sum(i < count ? partials[i] : 0.0);
  if (i == 0) *sum = static_cast<float>(static_cast<double>(*sum) + total);
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

}  // namespace linkgain::kernels
