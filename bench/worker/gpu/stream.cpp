#include "linkgain/gpu/stream.hpp"

#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {

Stream::Stream(StreamPriority priority) {
  int lowest = 0;  // also the usual one
  int highest = 0;
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                     priority == StreamPriority::highest ? highest : lowest));
  handle_.reset(stream);
}

void Stream::synchronize() const { check(cudaStreamSynchronize(handle_.get())); }

bool Stream::done() const {
  const cudaError_t status = cudaStreamQuery(handle_.get());
  if (status == cudaErrorNotReady) {
    // The runtime remembers it like an error; the next check of a launch would report it.
    cudaGetLastError();
    return false;
  }
  check(status);
  return true;
}

void Stream::Destroy::operator()(cudaStream_t stream) const noexcept { cudaStreamDestroy(stream); }

}  // namespace linkgain::gpu
