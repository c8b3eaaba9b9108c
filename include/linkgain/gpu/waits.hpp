#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/common/wait_report.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain::gpu {

/// How long our own kernels of a rank wait for other ranks, and what they waited for in vain.
class DeviceWaits {
 public:
  /// Bounds the waits of kernels: they end before the rank does, so that they can say whom they
  /// waited for. They wait for 26 days (kLongestWait) at most, and where `timeout`, the rank's, is
  /// 0. Throws CudaError.
  DeviceWaits(int rank, Seconds timeout);

  /// Returns the bound for kernels; valid as long as this lives.
  kernels::WaitBound bound() const { return bound_; }

  /// Says "a kernel of rank 0 waited 48 s for rank 1 ..."; nothing if none did. From any thread.
  std::optional<std::string> failure() const;

  /// Throws MachineError with the failure. What such kernels left is no result.
  void require_none() const;

 private:
  int rank_;
  PinnedBuffer memory_{Bytes{sizeof(kernels::WaitReport)}};
  kernels::WaitBound bound_;
};

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
