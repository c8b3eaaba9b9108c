#include "linkgain/gpu/stream.hpp"

#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {

Stream::Stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
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
