#pragma once

#include <nccl.h>

#include <functional>

#include "linkgain/base/units.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/gpu/waits.hpp"

namespace linkgain {

/// Times batches of operations on a rank's device, so that a batch takes what its operations do and
/// nothing else. Of one stream and thread, on the device that was current at construction.
class BatchTimer {
 public:
  /// Throws CudaError.
  BatchTimer();

  /// Lines ranks up: what comes after it in a rank's stream comes after what was before it in any.
  /// Every rank must call it. Throws NCCL's error.
  void line_up(ncclComm_t communicator, const gpu::Stream& stream);

  /// Returns the device time of what `first` and then `rest` put into `stream`, which is done when
  /// this returns; every rank must call it. `first` is the smallest part that keeps the device at
  /// work until the host has more. Throws what they throw, CudaError and NCCL's error.
  Seconds time(ncclComm_t communicator, const gpu::Stream& stream,
               const std::function<void()>& first, const std::function<void()>& rest);

 private:
  gpu::StreamGate gate_;
  gpu::Event start_;
  gpu::Event stop_;
  /// Two floats: an all-reduce from the first to the second lines the GPUs up.
  gpu::DeviceBuffer alignment_;
};

/// What all operations of a rank share; owned by the backend, which outlives them.
struct NcclContext {
  ncclComm_t communicator = nullptr;
  int rank = 0;
  gpu::Stream* stream = nullptr;
  BatchTimer* timer = nullptr;              ///< of `stream`
  const gpu::DeviceWaits* waits = nullptr;  ///< of our own kernels; absent: WaitBound's limit

  kernels::WaitBound bound() const {
    return waits != nullptr ? waits->bound() : kernels::WaitBound{};
  }
};

}  // namespace linkgain
