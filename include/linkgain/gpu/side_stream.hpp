#pragma once

#include "linkgain/gpu/event.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain::gpu {

/// A stream for what may run beside the work of a main one, of the device that was current at
/// construction. The host waits nowhere. Everything throws CudaError.
class SideStream {
 public:
  const Stream& stream() const { return stream_; }

  /// What is put into stream() from now on starts after all that is in `main` now.
  void fork(const Stream& main);

  /// What is put into `main` from now on starts after all that is in stream() now.
  void join(const Stream& main);

 private:
  Stream stream_;
  Event forked_{TimeStamps::left_out};
  Event joined_{TimeStamps::left_out};
};

}  // namespace linkgain::gpu
