
#include "kernels/common/wait.cuh"
#include "kernels/timing/stream_gate.hpp"

namespace linkgain::kernels {
namespace {

__global__ void stream_gate(const std::uint32_t* gate, std::uint32_t value,
                            TimeLimit::Arguments time) {
  wait_for_count(gate, value, TimeLimit(time));
}

}  // namespace

cudaError_t block_stream(cudaStream_t stream, const std::uint32_t* gate, std::uint32_t value,
                         double microseconds) {
  if (gate == nullptr || !(microseconds >= 0.0 && microseconds <= kLongestBlock)) {
    return cudaErrorInvalidValue;
  }
  stream_gate<<<1, 1, 0, stream>>>(gate, value, TimeLimit::arguments(microseconds));
  return cudaGetLastError();
}

}  // namespace linkgain::kernels
