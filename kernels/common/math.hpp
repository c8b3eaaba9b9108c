#pragma once

#include <cstdint>

// Arithmetic that kernels and the host share.

// nvcc needs the annotation on what kernels call, another compiler does not know it.
#ifdef __CUDACC__
#define LINKGAIN_BOTH __host__ __device__
#else
#define LINKGAIN_BOTH
#endif

namespace linkgain::kernels {

/// Divides and rounds up; neither is negative, the divisor not zero.
template <typename Value, typename Divisor>
LINKGAIN_BOTH constexpr auto divide_up(Value value, Divisor divisor) {
  return (value + divisor - 1) / divisor;
}

/// Rounds `value` up to a multiple of `step`.
template <typename Value, typename Step>
LINKGAIN_BOTH constexpr auto round_up(Value value, Step step) {
  return divide_up(value, step) * step;
}

/// Returns whether all of `pointers` begin at a multiple of kBytes; null does.
template <std::uintptr_t kBytes = 16, typename... Pointers>
bool are_aligned(const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % kBytes == 0) && ...);
}

#ifdef __CUDACC__

inline constexpr int kWarpThreads = 32;
inline constexpr unsigned kWholeWarp = 0xffffffffU;

/// Returns the sum over a warp's threads, all of which take part, in every thread with the same
/// bits.
template <typename Number>
__device__ inline Number warp_sum(Number value) {
#pragma unroll
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kWholeWarp, value, distance);
  }
  return value;
}

/// Returns 2^value within 2^-22 of it; 0 below 2^-126.
__device__ inline float fast_exp2(float value) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

#endif

}  // namespace linkgain::kernels
