#pragma once

#include <cstdint>

#include "linkgain/gpu/pinned_copy.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain {

/// Keeps a stream from what is to be timed until the host has enqueued the start of it; not for
/// ever, as gpu::wait_for_flag() would. Of one stream and thread.
class StartGate {
 public:
  /// Throws CudaError.
  StartGate();

  /// Nothing that `stream` is given from now on begins before open(), or before a millisecond has
  /// passed: enqueueing may itself wait for the stream. Throws CudaError.
  void hold(const gpu::Stream& stream);
  void open();

 private:
  std::uint32_t* opened() const { return static_cast<std::uint32_t*>(memory_.data()); }

  gpu::PinnedBuffer memory_;  ///< a counter of open() calls, which the device looks at
  std::uint32_t holds_ = 0;
};

}  // namespace linkgain
