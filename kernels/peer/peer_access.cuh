#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/peer/peer_regions.hpp"

// How kernels reach other ranks' memory: stores with flags beside the data, barriers of blocks, and
// vectors of 16 bytes whose elements are added up in float32.

namespace linkgain::kernels {

/// Two words of data, each with its flag: 8 bytes are written at once, so that the flag comes with
/// the word before it.
struct alignas(16) FlaggedWords {
  std::uint32_t first;
  std::uint32_t first_flag;
  std::uint32_t second;
  std::uint32_t second_flag;
};

__device__ inline void store_flagged(FlaggedWords* to, std::uint32_t first, std::uint32_t second,
                                     std::uint32_t flag) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(first), "r"(flag),
               "r"(second), "r"(flag)
               : "memory");
}

/// Waits until both flags are there.
__device__ inline uint2 load_flagged(const FlaggedWords* from, std::uint32_t flag) {
  std::uint32_t first;
  std::uint32_t first_flag;
  std::uint32_t second;
  std::uint32_t second_flag;
  do {
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(first), "=r"(first_flag), "=r"(second), "=r"(second_flag)
                 : "l"(from)
                 : "memory");
  } while (first_flag != flag || second_flag != flag);
  return make_uint2(first, second);
}

/// Whether the compiler knows accesses of 16 bytes that happen as one.
#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 3)
inline constexpr bool kHasWholeVectors = true;
#else
inline constexpr bool kHasWholeVectors = false;
#endif

/// Three words of data with one flag, written at once.
__device__ inline void store_triple(uint4* to, std::uint32_t first, std::uint32_t second,
                                    std::uint32_t third, std::uint32_t flag) {
  if constexpr (kHasWholeVectors) {
    asm volatile(
        "{\n\t"
        ".reg .b64 low, high;\n\t"
        ".reg .b128 all;\n\t"
        "mov.b64 low, {%1, %2};\n\t"
        "mov.b64 high, {%3, %4};\n\t"
        "mov.b128 all, {low, high};\n\t"
        "st.relaxed.sys.global.b128 [%0], all;\n\t"
        "}" ::"l"(to),
        "r"(first), "r"(second), "r"(third), "r"(flag)
        : "memory");
  }
}

/// What stands there; data only where `w`, the flag, is the one waited for.
__device__ inline uint4 load_triple(const uint4* from) {
  uint4 value{};
  if constexpr (kHasWholeVectors) {
    asm volatile(
        "{\n\t"
        ".reg .b64 low, high;\n\t"
        ".reg .b128 all;\n\t"
        "ld.relaxed.sys.global.b128 all, [%4];\n\t"
        "mov.b128 {low, high}, all;\n\t"
        "mov.b64 {%0, %1}, low;\n\t"
        "mov.b64 {%2, %3}, high;\n\t"
        "}"
        : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
        : "l"(from)
        : "memory");
  }
  return value;
}

__device__ inline void store_release(std::uint32_t* to, std::uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

__device__ inline std::uint32_t load_acquire(const std::uint32_t* from) {
  std::uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

/// Another rank's 16 bytes, which nobody will ask this multiprocessor for again.
__device__ inline uint4 load_once(const uint4* from) {
  uint4 value;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from)
               : "memory");
  return value;
}

/// Elements of a 4-byte word added to float32 sums, and sums brought back into a word.
template <typename T>
struct Word;

template <>
struct Word<float> {
  static constexpr int kElements = 1;
  __device__ static void add(float* sums, std::uint32_t word) { sums[0] += __uint_as_float(word); }
  __device__ static std::uint32_t round(const float* sums) { return __float_as_uint(sums[0]); }
};

template <>
struct Word<__half> {
  static constexpr int kElements = 2;
  __device__ static void add(float* sums, std::uint32_t word) {
    __half2 pair;
    memcpy(&pair, &word, sizeof pair);
    const float2 values = __half22float2(pair);
    sums[0] += values.x;
    sums[1] += values.y;
  }
  __device__ static std::uint32_t round(const float* sums) {
    const __half2 pair = __floats2half2_rn(sums[0], sums[1]);
    std::uint32_t word;
    memcpy(&word, &pair, sizeof word);
    return word;
  }
};

template <>
struct Word<__nv_bfloat16> {
  static constexpr int kElements = 2;
  __device__ static void add(float* sums, std::uint32_t word) {
    __nv_bfloat162 pair;
    memcpy(&pair, &word, sizeof pair);
    const float2 values = __bfloat1622float2(pair);
    sums[0] += values.x;
    sums[1] += values.y;
  }
  __device__ static std::uint32_t round(const float* sums) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(sums[0], sums[1]);
    std::uint32_t word;
    memcpy(&word, &pair, sizeof word);
    return word;
  }
};

/// Sums of the elements of kWords words.
template <typename T, int kWords>
struct Sums {
  float values[kWords * Word<T>::kElements] = {};

  __device__ void add(int word, std::uint32_t data) {
    Word<T>::add(values + word * Word<T>::kElements, data);
  }
  __device__ std::uint32_t rounded(int word) const {
    return Word<T>::round(values + word * Word<T>::kElements);
  }
};

template <typename T>
__device__ inline void add(Sums<T, 4>& sums, const uint4& data) {
  sums.add(0, data.x);
  sums.add(1, data.y);
  sums.add(2, data.z);
  sums.add(3, data.w);
}

template <typename T>
__device__ inline uint4 rounded(const Sums<T, 4>& sums) {
  return make_uint4(sums.rounded(0), sums.rounded(1), sums.rounded(2), sums.rounded(3));
}

}  // namespace linkgain::kernels
