#pragma once

#include <cuda_runtime_api.h>

// Launches that come up while the one before them in the stream ends (programmatic dependent
// launch), where the device and the code for it can.

namespace linkgain::kernels {

/// Lets the next launch of the stream come up once all blocks of this one have.
__device__ inline void let_next_come_up() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// Waits for the launch before this one. Whoever comes up early must do so before the end, so that
/// the end of a launch means that of all before it.
__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// Whether the code for devices of capability 9.0 and later is there, which waits.
constexpr bool has_early_code() {
  for (const int architecture : {__CUDA_ARCH_LIST__}) {
    if (architecture == 900) return true;
  }
  return false;
}

/// Of the current device; all of a machine's are taken for alike. A capture takes such launches
/// from CUDA 12.3 on, runtime and driver.
inline bool may_come_up_early() {
  constexpr int kFirst = 12030;
  int device = 0;
  int major = 0;
  int driver = 0;
  if (!has_early_code() || CUDART_VERSION < kFirst || cudaGetDevice(&device) != cudaSuccess ||
      cudaDriverGetVersion(&driver) != cudaSuccess || driver < kFirst ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess) {
    return false;
  }
  return major >= 9;
}

/// With what lets the launch come up early, where the device can.
template <typename... Parameters, typename... Arguments>
cudaError_t launch_early(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                         cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchAttribute early;
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  config.attrs = &early;
  static const bool can = may_come_up_early();
  config.numAttrs = can ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace linkgain::kernels
