#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "linkgain/core/units.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain::gpu {

/// Owns a CUDA event that takes time stamps, of the device that was current at construction.
/// Movable, not copyable. Everything throws CudaError.
class Event {
 public:
  Event();

  cudaEvent_t get() const noexcept { return handle_.get(); }

  /// Marks the present end of `stream`, which must be of the same device.
  void record(const Stream& stream);

  /// Blocks until the work before the mark is done. At once if never recorded.
  void synchronize() const;

  /// Whether the work before the mark is done. True if never recorded.
  bool done() const;

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const noexcept;
  };
  std::unique_ptr<CUevent_st, Destroy> handle_;
};

/// Device time between two recorded events whose work is done, by a clock of about 0.5 us.
Seconds elapsed(const Event& start, const Event& stop);

}  // namespace linkgain::gpu
