#pragma once

#include <nccl.h>

#include <memory>
#include <optional>

#include "linkgain/cases/case.hpp"
#include "linkgain/gpu/buffer.hpp"

namespace linkgain {

/// Owns device memory of one kind, with undefined contents, and its registration with a
/// communicator, which must outlive it. Move-only. Zero bytes are allowed and give a null address.
class NcclBuffer {
 public:
  /// Allocates by cudaMalloc for Buffers::plain, else by ncclMemAlloc, and registers it for
  /// Buffers::registered; local to the rank. Throws CudaError or NcclError, and MachineError where
  /// this NCCL has no such memory.
  NcclBuffer(Bytes size, Buffers kind, ncclComm_t communicator);

  /// Makes memory of Buffers::symmetric, of the same size on every rank, a window, and does nothing
  /// for the other kinds; every rank must call it. Throws NcclError.
  void prepare();

  void* data() const noexcept { return plain_ ? plain_->data() : memory_.get(); }
  Bytes size() const noexcept { return size_; }
  /// Returns what register_window() returned for Buffers::symmetric after prepare(); else null.
  void* window() const noexcept { return window_.get(); }

 private:
  /// NCCL finds what it knows of a buffer by its addresses, and forgets what a captured graph
  /// registered only some time after the graph is gone. Memory that came to lie there meanwhile
  /// would be taken for the old one, and peers would read what is no longer there. So addresses are
  /// not used twice.
  struct Free {
    Bytes size{};
    void operator()(void* memory) const noexcept;
  };
  struct Deregister {
    ncclComm_t communicator = nullptr;
    void operator()(void* handle) const noexcept;
  };
  struct CloseWindow {
    ncclComm_t communicator = nullptr;
    void operator()(void* window) const noexcept;
  };

  Bytes size_;
  Buffers kind_;
  std::optional<gpu::DeviceBuffer> plain_;
  // In the order in which they are made; they end the other way round.
  std::unique_ptr<void, Free> memory_;
  std::unique_ptr<void, Deregister> registration_;
  std::unique_ptr<void, CloseWindow> window_;
};

}  // namespace linkgain
