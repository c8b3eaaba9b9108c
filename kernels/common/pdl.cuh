#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

// Programmatic dependent launch: a launch starts while the one before it in the stream ends,
// where the device and the code for it can.

namespace linkgain::kernels {

/// Lets the next launch of the stream start once all blocks of this one have.
__device__ inline void pdl_trigger() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// Waits for the launch before this one. Whoever starts early must do so before the end, so that
/// the end of a launch means that of all before it, and before it reads what one before it wrote.
__device__ inline void pdl_wait() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// Waits for the launch before this one and only then lets the next start, so that at most two
/// overlap: when a launch starts all but the one before it are done.
__device__ inline void pdl_wait_then_trigger() {
  pdl_wait();
  pdl_trigger();
}

/// Lets the next launch start, and waits for the one before. After this the launch behaves as if
/// it had started only then.
__device__ inline void pdl_trigger_then_wait() {
  pdl_trigger();
  pdl_wait();
}

/// Asks the second-level cache for memory that is read soon; `bytes` is a multiple of 16, `first`
/// aligned to it. Nothing is read, so it may stand before pdl_wait(); it is worth it for what the
/// launch before does not write. One thread asks for a whole range. Nothing before sm_90.
__device__ inline void prefetch(const void* first, int bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(first)),
               "r"(bytes)
               : "memory");
#endif
}

/// Prefetches this thread's place, for ranges of a warp's threads that are not one.
__device__ inline void prefetch(const void* place) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(place)) : "memory");
}

/// Returns whether the code of `kernel` that runs on the current device has the calls above, which
/// are there from compute capability 9.0 on. A capture takes such launches from CUDA 12.3 on,
/// runtime and driver.
inline bool has_pdl(const void* kernel) {
  constexpr int kFirst = 12030;
  constexpr int kFirstPtx = 90;
  int driver = 0;
  cudaFuncAttributes attributes{};
  return CUDART_VERSION >= kFirst && cudaDriverGetVersion(&driver) == cudaSuccess &&
         driver >= kFirst && cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess &&
         attributes.ptxVersion >= kFirstPtx;
}

struct LaunchShape {
  dim3 blocks;
  unsigned threads;
  std::size_t shared_bytes = 0;
};

/// Launches with what lets it start early, if the device can; all of a machine's are taken for
/// alike, and so are all kernels, which are compiled together.
template <typename... Parameters, typename... Arguments>
cudaError_t launch_pdl(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
                       const Arguments&... arguments) {
  cudaLaunchAttribute early;
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.blocks;
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  static const bool can = has_pdl(reinterpret_cast<const void*>(kernel));
  config.numAttrs = can ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

template <typename... Parameters, typename... Arguments>
cudaError_t launch_pdl(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                       cudaStream_t stream, const Arguments&... arguments) {
  return launch_pdl(kernel, {dim3(blocks), threads}, stream, arguments...);
}

}  // namespace linkgain::kernels
