#pragma once

#include <memory>

#include "linkgain/base/units.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain::gpu {

/// Owns plain device memory (cudaMalloc) of the device that was current at construction, with
/// undefined contents. Movable, not copyable. Zero bytes are allowed and give a null address.
class DeviceBuffer {
 public:
  /// Throws CudaError, where memory is short with advice.
  explicit DeviceBuffer(Bytes size);

  void* data() const noexcept { return memory_.get(); }
  Bytes size() const noexcept { return size_; }

 private:
  struct Free {
    void operator()(void* memory) const noexcept;
  };
  std::unique_ptr<void, Free> memory_;
  Bytes size_;
};

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

  /// Puts one copy of the whole buffer into the stream, by copy engine, and returns at once.
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

/// Enqueues a copy between any two places of host or device memory. From or to host memory that is
/// not page-locked it may wait for the copy, and for what is in the stream before it. Throws
/// CudaError.
void enqueue_copy(void* to, const void* from, Bytes size, const Stream& stream);

/// Enqueues: every byte of device memory becomes `byte`. Throws CudaError.
void enqueue_fill(void* memory, unsigned char byte, Bytes size, const Stream& stream);

/// Device addresses in a row.
struct AddressRange {
  void* first = nullptr;
  Bytes size{};
};

/// Returns all that were mapped together with `memory`, which may be more than was asked for; that
/// address and `size` where the driver does not say.
AddressRange range_of(void* memory, Bytes size) noexcept;

/// Keeps addresses that have just been freed from being handed out again, for as long as the
/// process lives; takes no memory. Whole 2 MiB, as the driver hands them out. False where the
/// driver has no such call or has given them to somebody else already.
bool retire(const AddressRange& range) noexcept;

}  // namespace linkgain::gpu
