#include "linkgain/gpu/event.hpp"

#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {

Event::Event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDefault));
  handle_.reset(event);
}

void Event::record(const Stream& stream) { check(cudaEventRecord(handle_.get(), stream.get())); }

void Event::synchronize() const { check(cudaEventSynchronize(handle_.get())); }

bool Event::done() const {
  const cudaError_t status = cudaEventQuery(handle_.get());
  if (status == cudaErrorNotReady) {
    // The runtime remembers it like an error; the next check of a launch would report it.
    cudaGetLastError();
    return false;
  }
  check(status);
  return true;
}

void Event::Destroy::operator()(cudaEvent_t event) const noexcept { cudaEventDestroy(event); }

Seconds elapsed(const Event& start, const Event& stop) {
  float milliseconds = 0.0F;
  check(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
  return Seconds{static_cast<double>(milliseconds) * 1e-3};
}

}  // namespace linkgain::gpu
