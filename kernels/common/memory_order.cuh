#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/mutant.hpp"

// Accesses to memory that other devices, or the host, read and write at the same time. Names and
// meaning are those of the PTX ISA, "Memory consistency model"; the scope is the system.

namespace linkgain::kernels {

__device__ inline void store_release(std::uint32_t* to, std::uint32_t value) {
  if constexpr (kMutant == Mutant::no_release) {
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
  } else {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
  }
}

__device__ inline std::uint32_t load_acquire(const std::uint32_t* from) {
  std::uint32_t value;
  if constexpr (kMutant == Mutant::no_acquire) {
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  } else {
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  }
  return value;
}

/// Stores two words of 8 bytes, each of which is written at once, but not both together.
__device__ inline void store_pair(void* to, const uint4& value) {
  asm volatile(
      "{\n\t"
      ".reg .b64 low, high;\n\t"
      "mov.b64 low, {%1, %2};\n\t"
      "mov.b64 high, {%3, %4};\n\t"
      "st.volatile.global.v2.b64 [%0], {low, high};\n\t"
      "}" ::"l"(to),
      "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
      : "memory");
}

__device__ inline uint4 load_pair(const void* from) {
  std::uint64_t low;
  std::uint64_t high;
  asm volatile("ld.volatile.global.v2.b64 {%0, %1}, [%2];"
               : "=l"(low), "=l"(high)
               : "l"(from)
               : "memory");
  return make_uint4(static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                    static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32));
}

/// Stores four words, each of which is written at once, but not all together.
__device__ inline void store_relaxed(uint4* to, const uint4& value) {
  asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

__device__ inline uint4 load_relaxed(const uint4* from) {
  uint4 value;
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from)
               : "memory");
  return value;
}

}  // namespace linkgain::kernels
