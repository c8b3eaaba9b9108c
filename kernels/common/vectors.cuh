#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>

// Vectors of 16 bytes, where buffers begin at one: how kernels walk them by chunks, some vectors
// for each thread, a block's threads apart, and sums of their elements in float32.

namespace linkgain::kernels {

/// Loads another rank's 16 bytes, which nobody will ask this multiprocessor for again.
__device__ inline uint4 load_once(const uint4* from) {
  uint4 value;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from)
               : "memory");
  return value;
}

/// Calls work(number, place) for this thread's kVectors vectors of a chunk, but for those from
/// `end` on. An Index of 32 bits takes half the registers; it must hold `end` and a chunk more.
template <int kVectors, typename Index, typename Work>
__device__ void for_vectors(Index chunk, Index end, Work work) {
  const Index start = chunk * kVectors * blockDim.x + threadIdx.x;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const Index i = start + v * blockDim.x;
    if (i < end) work(v, i);
  }
}

template <int kVectors, typename Index>
__device__ void copy_chunk(const uint4* from, uint4* to, Index chunk, Index end) {
  uint4 data[kVectors];
  for_vectors<kVectors>(chunk, end, [&](int v, Index i) { data[v] = load_once(from + i); });
  for_vectors<kVectors>(chunk, end, [&](int v, Index i) { to[i] = data[v]; });
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

__device__ inline float2 widened(__half2 pair) { return __half22float2(pair); }
__device__ inline float2 widened(__nv_bfloat162 pair) { return __bfloat1622float2(pair); }
__device__ inline void narrow(__half2& pair, float x, float y) { pair = __floats2half2_rn(x, y); }
__device__ inline void narrow(__nv_bfloat162& pair, float x, float y) {
  pair = __floats2bfloat162_rn(x, y);
}

template <typename Pair>
struct PairWord {
  static constexpr int kElements = 2;
  __device__ static void add(float* sums, std::uint32_t word) {
    Pair pair;
    memcpy(&pair, &word, sizeof pair);
    const float2 values = widened(pair);
    sums[0] += values.x;
    sums[1] += values.y;
  }
  __device__ static std::uint32_t round(const float* sums) {
    Pair pair;
    narrow(pair, sums[0], sums[1]);
    std::uint32_t word;
    memcpy(&word, &pair, sizeof word);
    return word;
  }
};

template <>
struct Word<__half> : PairWord<__half2> {};

template <>
struct Word<__nv_bfloat16> : PairWord<__nv_bfloat162> {};

/// Sums of the elements of kWords words. They start from -0, to which anything is added as it is.
template <typename T, int kWords>
struct Sums {
  float values[kWords * Word<T>::kElements];

  __device__ Sums() {
    for (float& value : values) value = -0.0F;
  }

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
