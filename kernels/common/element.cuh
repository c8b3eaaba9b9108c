#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>

#include "kernels/common/element.hpp"

// Elements on the device: their C++ types, and sums of them in float32.

namespace linkgain::kernels {

template <typename T>
struct TypeTag {
  using type = T;
};

constexpr ElementType element_of(TypeTag<float>) { return ElementType::float32; }
constexpr ElementType element_of(TypeTag<__half>) { return ElementType::float16; }
constexpr ElementType element_of(TypeTag<__nv_bfloat16>) { return ElementType::bfloat16; }
constexpr ElementType element_of(TypeTag<double>) { return ElementType::float64; }
constexpr ElementType element_of(TypeTag<std::int8_t>) { return ElementType::int8; }
constexpr ElementType element_of(TypeTag<std::uint8_t>) { return ElementType::uint8; }
constexpr ElementType element_of(TypeTag<std::int32_t>) { return ElementType::int32; }
constexpr ElementType element_of(TypeTag<std::uint32_t>) { return ElementType::uint32; }
constexpr ElementType element_of(TypeTag<std::int64_t>) { return ElementType::int64; }
constexpr ElementType element_of(TypeTag<std::uint64_t>) { return ElementType::uint64; }
constexpr ElementType element_of(TypeTag<__nv_fp8_e4m3>) { return ElementType::float8e4m3; }
constexpr ElementType element_of(TypeTag<__nv_fp8_e5m2>) { return ElementType::float8e5m2; }

/// Returns work(TypeTag<T>) for the one of Ts that `type` is; cudaErrorInvalidValue for others.
template <typename... Ts, typename Work>
cudaError_t with_one_of(ElementType type, Work work) {
  cudaError_t status = cudaErrorInvalidValue;
  static_cast<void>(((type == element_of(TypeTag<Ts>{}) &&
                      (static_cast<void>(status = work(TypeTag<Ts>{})), true)) ||
                     ...));
  return status;
}

/// Calls `work` for every type that there is.
template <typename Work>
cudaError_t with_type(ElementType type, Work work) {
  return with_one_of<float, __half, __nv_bfloat16, double, std::int8_t, std::uint8_t, std::int32_t,
                     std::uint32_t, std::int64_t, std::uint64_t, __nv_fp8_e4m3, __nv_fp8_e5m2>(
      type, work);
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
