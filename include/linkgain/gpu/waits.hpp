#pragma once

#include <optional>
#include <string>

#include "kernels/common/wait_report.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpu/buffer.hpp"

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

}  // namespace linkgain::gpu
