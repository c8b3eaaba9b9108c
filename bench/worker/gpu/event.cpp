#include "linkgain/gpu/event.hpp"

#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {

Event::Event(TimeStamps stamps) {
  cudaEvent_t event = nullptr;
  const unsigned flags = stamps == TimeStamps::taken ? cudaEventDefault : cudaEventDisableTiming;
  check(cudaEventCreateWithFlags(&event, flags));
  handle_.reset(event);
}

void Event::record(cudaStream_t stream) { check(cudaEventRecord(handle_.get(), stream)); }

void Event::hold(cudaStream_t stream) const {
  check(cudaStreamWaitEvent(stream, handle_.get(), 0));
}

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
