#include "kernels/common/device_attribute.hpp"
#include "kernels/common/wait.cuh"
#include "kernels/timing/warm_up.hpp"

namespace linkgain::kernels {
namespace {

constexpr int kThreadsPerBlock = 256;

/// Runs rounds of eight independent chains of multiply-adds per thread, enough to fill the
/// pipeline, with a look at the clocks between them.
__global__ void __launch_bounds__(kThreadsPerBlock) keep_busy(TimeLimit::Arguments time) {
  constexpr int kChains = 8;
  constexpr int kRoundsBetweenLooks = 64;
  const TimeLimit limit(time);
  // The logistic map x -> 1 - 1.9 x^2 stays within [-1, 1] and is chaotic: bits keep toggling,
  // which draws more power than a chain that settles.
  float chains[kChains];
  for (int k = 0; k < kChains; ++k) {
    chains[k] = static_cast<float>(threadIdx.x * kChains + k) / (kThreadsPerBlock * kChains);
  }
  while (!limit.passed()) {
    for (int round = 0; round < kRoundsBetweenLooks; ++round) {
#pragma unroll
      for (int k = 0; k < kChains; ++k) chains[k] = fmaf(-1.9f * chains[k], chains[k], 1.0f);
    }
  }
  // Cannot happen, which the compiler does not know: it has to keep the work.
  float sum = 0.0f;
  for (int k = 0; k < kChains; ++k) sum += chains[k];
  if (sum > 2.0f * kChains) __trap();
}

cudaError_t blocks_at_once(int* blocks) {
  int multiprocessors = 0;
  int blocks_per_multiprocessor = 0;
  cudaError_t status = device_attribute(cudaDevAttrMultiProcessorCount, &multiprocessors);
  if (status != cudaSuccess) return status;
  status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_multiprocessor, keep_busy,
                                                         kThreadsPerBlock, 0);
  if (status != cudaSuccess) return status;
  *blocks = multiprocessors * blocks_per_multiprocessor;
  return cudaSuccess;
}

}  // namespace

cudaError_t warm_up(cudaStream_t stream, double microseconds, int blocks) {
  if (!(microseconds >= 0.0 && microseconds <= kLongestWarmUp) || blocks < 0) {
    return cudaErrorInvalidValue;
  }
  if (blocks == 0) {
    const cudaError_t status = blocks_at_once(&blocks);
    if (status != cudaSuccess) return status;
  }
  keep_busy<<<static_cast<unsigned>(blocks), kThreadsPerBlock, 0, stream>>>(
      TimeLimit::arguments(microseconds));
  return cudaGetLastError();
}

}  // namespace linkgain::kernels
