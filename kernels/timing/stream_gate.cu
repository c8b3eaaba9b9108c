#include <cstdint>

#include "kernels/common/wait.cuh"
#include "kernels/timing/stream_gate.hpp"

namespace linkgain::kernels {
namespace {

__global__ void hold_kernel(const std::uint32_t* gate, std::uint32_t value,
                            TimeLimit::Arguments time) {
  wait_for_count(gate, value, TimeLimit(time));
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
