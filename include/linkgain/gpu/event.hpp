#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "linkgain/base/units.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain::gpu {

enum class TimeStamps { taken, left_out };

/// Owns a CUDA event of the device that was current at construction. Movable, not copyable.
/// Everything throws CudaError.
class Event {
 public:
  Event() : Event(TimeStamps::taken) {}
  /// Without time stamps events cost streams less, but elapsed() refuses them.
  explicit Event(TimeStamps stamps);

  cudaEvent_t get() const noexcept { return handle_.get(); }

  /// Marks the present end of `stream`, which must be of the same device.
  void record(cudaStream_t stream);
  void record(const Stream& stream) { record(stream.get()); }

  /// What is put into `stream`, of any device, from now on starts after the work before the mark as
  /// it is now: recording anew changes nothing for it. The host does not wait.
  void hold(cudaStream_t stream) const;
  void hold(const Stream& stream) const { hold(stream.get()); }

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
