#pragma once

#include <cstdint>

#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain::gpu {

/// Keeps a stream from what is to be timed until the host has enqueued the start of it; not for
/// ever, as wait_for_flag() would. Of one stream and thread.
class StreamGate {
 public:
  /// Throws CudaError.
  StreamGate();

  /// Blocks the stream: nothing that it is given from now on begins before unblock(), or before a
  /// millisecond has passed: enqueueing may itself wait for the stream. Throws CudaError.
  void block_stream(const Stream& stream);
  void unblock();

 private:
  std::uint32_t* unblocked() const { return static_cast<std::uint32_t*>(memory_.data()); }

  PinnedBuffer memory_;  ///< a counter of unblock() calls, which the device looks at
  std::uint32_t blocks_ = 0;
};

}  // namespace linkgain::gpu
