#pragma once

#include <cuda_runtime_api.h>

#include <memory>

namespace linkgain::gpu {

/// Whether kernels of a stream go before those of others that wait for room on the device.
enum class StreamPriority { usual, highest };

/// Owns a CUDA stream of the device that was current at construction. Movable, not copyable. It
/// does not wait for the default stream. Everything throws CudaError.
class Stream {
 public:
  Stream() : Stream(StreamPriority::usual) {}
  explicit Stream(StreamPriority priority);

  cudaStream_t get() const noexcept { return handle_.get(); }

  /// Blocks until all that was put in is done; throws what the work ended with.
  void synchronize() const;

  /// Whether all that was put in is done; throws what the work ended with.
  bool done() const;

 private:
  struct Destroy {
    void operator()(cudaStream_t stream) const noexcept;
  };
  std::unique_ptr<CUstream_st, Destroy> handle_;
};

}  // namespace linkgain::gpu
