#pragma once

#include <memory>

#include "linkgain/base/units.hpp"

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

}  // namespace linkgain::gpu
