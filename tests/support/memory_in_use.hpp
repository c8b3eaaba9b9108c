#pragma once

#include <cuda_runtime_api.h>

#include "linkgain/base/units.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain::test {

/// Returns what all processes have of the current device's memory. Throws CudaError.
inline Bytes memory_in_use() {
  std::size_t free = 0;
  std::size_t total = 0;
  gpu::check(cudaMemGetInfo(&free, &total));
  return {static_cast<std::int64_t>(total - free)};
}

}  // namespace linkgain::test
