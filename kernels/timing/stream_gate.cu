#include <cstdint>

#include "kernels/common/time_limit.cuh"
#include "kernels/peer/peer_access.cuh"
#include "kernels/timing/stream_gate.hpp"

namespace linkgain::kernels {
namespace {

__global__ void hold_kernel(const std::uint32_t* gate, std::uint32_t value,
                            TimeLimit::Arguments time) {
  const TimeLimit limit(time);
  while (static_cast<std::int32_t>(load_acquire(gate) - value) < 0 && !limit.passed()) {
  }
}

}  // namespace

cudaError_t launch_hold(cudaStream_t stream, const std::uint32_t* gate, std::uint32_t value,
                        double microseconds) {
  if (gate == nullptr || !(microseconds >= 0.0 && microseconds <= kLongestHold)) {
    return cudaErrorInvalidValue;
  }
  hold_kernel<<<1, 1, 0, stream>>>(gate, value, TimeLimit::arguments(microseconds));
  return cudaGetLastError();
}

}  // namespace linkgain::kernels
