#include "nccl/batch_timer.hpp"

#include <cuda_runtime_api.h>

#include "linkgain/gpu/errors.hpp"
#include "nccl/api.hpp"

namespace linkgain {

BatchTimer::BatchTimer() : alignment_(Bytes{2 * sizeof(float)}) {
  gpu::check(cudaMemset(alignment_.data(), 0, 2 * sizeof(float)));
}

void BatchTimer::line_up(ncclComm_t communicator, const gpu::Stream& stream) {
  float* alignment = static_cast<float*>(alignment_.data());
  check(nccl().all_reduce(alignment, alignment + 1, 1, ncclFloat32, ncclSum, communicator,
                          stream.get()));
}

Seconds BatchTimer::time(ncclComm_t communicator, const gpu::Stream& stream,
                         const std::function<void()>& first, const std::function<void()>& rest) {
  // Were the GPU to come to the start before the first operation is enqueued, it would wait for the
  // host with the clock running, some 20 us.
  gate_.block_stream(stream);
  // The ranks leave their barrier microseconds apart; this makes the GPUs start together.
  line_up(communicator, stream);
  start_.record(stream);
  first();
  gate_.unblock();
  // Were the host to go on while the GPUs line up, operations that it bounds would look faster.
  while (!start_.done()) {
  }
  rest();
  stop_.record(stream);
  stop_.synchronize();
  return gpu::elapsed(start_, stop_);
}

}  // namespace linkgain
