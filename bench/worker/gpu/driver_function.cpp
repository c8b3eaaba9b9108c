#include "driver_function.hpp"

#include <cuda_runtime_api.h>

namespace linkgain::gpu {

void* driver_function(const char* name) noexcept {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  constexpr unsigned kVersion = 12000;
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &function, kVersion, cudaEnableDefault, &found);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (status == cudaSuccess && found == cudaDriverEntryPointSuccess) return function;
  cudaGetLastError();
  return nullptr;
}

}  // namespace linkgain::gpu
