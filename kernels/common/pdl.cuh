#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/common/device_attribute.hpp"

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

/// Waits for the launch before this one and only then lets the next come up, so that at most two
/// overlap: when a launch comes up all but the one before it are done.
__device__ inline void follow_previous() {
  wait_for_previous();
  let_next_come_up();
}

/// Asks the second-level cache for memory that is read soon; `bytes` is a multiple of 16, `first`
/// aligned to it. Nothing is read, so it may stand before wait_for_previous(); it is worth it for
/// what the launch before does not write. One thread asks for a whole range. Nothing before sm_90.
__device__ inline void ask_cache_for(const void* first, int bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(first)),
               "r"(bytes)
               : "memory");
#endif
}

/// The same for this thread's place, where ranges of a warp's threads are not one.
__device__ inline void ask_cache_for(const void* place) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(place)) : "memory");
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
  int major = 0;
  int driver = 0;
  if (!has_early_code() || CUDART_VERSION < kFirst ||
      cudaDriverGetVersion(&driver) != cudaSuccess || driver < kFirst ||
      device_attribute(cudaDevAttrComputeCapabilityMajor, &major) != cudaSuccess) {
    return false;
  }
  return major >= 9;
}

struct LaunchShape {
  dim3 blocks;
  unsigned threads;
  std::size_t shared_bytes = 0;
};

/// With what lets the launch come up early, where the device can.
template <typename... Parameters, typename... Arguments>
cudaError_t launch_early(void (*kernel)(Parameters...), const LaunchShape& shape,
                         cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchAttribute early;
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.blocks;
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  static const bool can = may_come_up_early();
  config.numAttrs = can ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

template <typename... Parameters, typename... Arguments>
cudaError_t launch_early(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                         cudaStream_t stream, const Arguments&... arguments) {
  return launch_early(kernel, {dim3(blocks), threads}, stream, arguments...);
}

}  // namespace linkgain::kernels
