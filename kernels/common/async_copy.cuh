#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

// Copies from global to shared memory in the background. Before sm_80 they are plain ones, done
// when they have begun, and waiting is nothing.

namespace linkgain::kernels {

inline constexpr int kCopyChunk = 16;  ///< bytes that one background copy moves

/// Returns what the launch gave of shared memory, aligned to 16 bytes.
__device__ inline char* shared_memory() {
  extern __shared__ uint4 memory[];
  return reinterpret_cast<char*>(memory);
}

__device__ inline std::uint32_t shared_address(const void* memory) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
}

/// Begins a copy of 16 bytes into shared memory, or fills with zeros where they are not wanted; it
/// then reads nothing.
__device__ inline void begin_copy(void* to, const void* from, bool wanted) {
#if __CUDA_ARCH__ >= 800
  const int bytes = wanted ? kCopyChunk : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(bytes)
               : "memory");
#else
  *static_cast<uint4*>(to) =
      wanted ? __ldg(static_cast<const uint4*>(from)) : make_uint4(0U, 0U, 0U, 0U);
#endif
}

/// Copies one float in the same way.
__device__ inline void begin_copy(float* to, const float* from, bool wanted) {
#if __CUDA_ARCH__ >= 800
  const int bytes = wanted ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(bytes)
               : "memory");
#else
  *to = wanted ? __ldg(from) : 0.0F;
#endif
}

/// Waits for all copies that this thread has begun.
__device__ inline void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// Ends a group, which may be empty: the copies that this thread has begun since the last.
__device__ inline void end_copy_group() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits for all of this thread's groups but the latest kGroups.
template <int kGroups>
__device__ inline void wait_for_copies_but() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
#endif
}

}  // namespace linkgain::kernels
