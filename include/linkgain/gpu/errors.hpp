#pragma once

#include <cuda_runtime_api.h>

#include <source_location>
#include <string>

#include "linkgain/base/errors.hpp"

namespace linkgain::gpu {

/// Returns "buffer.cpp:12".
std::string place_of(const std::source_location& where);

/// A CUDA runtime call failed.
class CudaError : public MachineError {
 public:
  CudaError(cudaError_t code, const std::source_location& where);

  cudaError_t code() const noexcept { return code_; }

 private:
  cudaError_t code_;
};

/// Throws CudaError, which names the place of the call, unless `status` is cudaSuccess. The
/// runtime's memory of the error is cleared, so that no later check reports it a second time
/// (errors that broke the device's context stay).
void check(cudaError_t status, const std::source_location& where = std::source_location::current());

}  // namespace linkgain::gpu
