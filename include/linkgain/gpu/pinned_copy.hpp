#pragma once

#include <memory>

#include "linkgain/base/units.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain::gpu {

/// Owns page-locked host memory that the current device's copy engines read and write, with
/// undefined contents. Movable, not copyable.
class PinnedBuffer {
 public:
  /// Throws CudaError, where memory is short with advice.
  explicit PinnedBuffer(Bytes size);

  void* data() const noexcept { return memory_.get(); }
  Bytes size() const noexcept { return size_; }

 private:
  struct Free {
    void operator()(void* memory) const noexcept;
  };
  std::unique_ptr<void, Free> memory_;
  Bytes size_;
};

/// A host and a device buffer of one size and a stream that copies between them, on the device that
/// was current at construction. Movable, not copyable. Everything throws CudaError.
class PinnedCopy {
 public:
  explicit PinnedCopy(Bytes size) : host_(size), device_(size) {}

  /// Put one copy of the whole buffer into the stream, by copy engine; return at once.
  void copy_to_device();
  void copy_from_device();

  const Stream& stream() const noexcept { return stream_; }
  void* host() const noexcept { return host_.data(); }
  void* device() const noexcept { return device_.data(); }

 private:
  PinnedBuffer host_;
  DeviceBuffer device_;
  Stream stream_;
};

}  // namespace linkgain::gpu
