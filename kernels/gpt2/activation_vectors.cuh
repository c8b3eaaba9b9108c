#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>

#include "kernels/common/element.cuh"
#include "kernels/common/math.hpp"
#include "kernels/random/model_random.hpp"
#include "kernels/random/philox.hpp"

// What kernels on activations (float32 or bfloat16) and on the residual stream share: vectors of
// them as float32, dropout of four at a time.

namespace linkgain::kernels {

/// Returns work(TypeTag<T>) for the type's T.
template <typename Work>
cudaError_t with_activation(ElementType type, Work work) {
  return with_one_of<float, __nv_bfloat16>(type, work);
}

inline bool fits(const MatrixDropout& dropout) {
  return dropout.first >= 0 && dropout.first % kWordsPerBlock == 0;
}

__device__ inline float2 floats_of(std::uint32_t word) {
  __nv_bfloat162 pair;
  memcpy(&pair, &word, sizeof pair);
  return __bfloat1622float2(pair);
}

__device__ inline std::uint32_t rounded_word(float first, float second) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
  std::uint32_t word;
  memcpy(&word, &pair, sizeof word);
  return word;
}

// Four neighbouring elements, as they are in memory and as float32.

template <typename T>
struct RawFour;

template <>
struct RawFour<float> {
  using type = float4;
};

template <>
struct RawFour<__nv_bfloat16> {
  using type = uint2;
};

template <typename T>
__device__ inline typename RawFour<T>::type load_raw_four(const T* from) {
  return *reinterpret_cast<const typename RawFour<T>::type*>(from);
}

__device__ inline float4 four_of(const float4& raw) { return raw; }

__device__ inline float4 four_of(const uint2& raw) {
  const float2 low = floats_of(raw.x);
  const float2 high = floats_of(raw.y);
  return make_float4(low.x, low.y, high.x, high.y);
}

__device__ inline float4 load_four(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}

__device__ inline void store_four(float* to, const float4& four) {
  *reinterpret_cast<float4*>(to) = four;
}

__device__ inline void store_four(__nv_bfloat16* to, const float4& four) {
  *reinterpret_cast<uint2*>(to) =
      make_uint2(rounded_word(four.x, four.y), rounded_word(four.z, four.w));
}

__device__ inline float4 add(const float4& a, const float4& b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/// Returns which of four elements are kept, as bits; dropped() by two steps, so that words can be
/// drawn while the elements are on their way.
__device__ inline std::uint32_t kept_bits(const MatrixDropout& dropout, std::int64_t element) {
  const DropoutMask& mask = dropout.mask;
  if (mask.threshold == 0) return 0xfU;
  const RandomWords words = device_random_block(
      mask.sequence, static_cast<std::uint64_t>(dropout.first + element) / kWordsPerBlock);
  std::uint32_t bits = 0;
#pragma unroll
  for (int e = 0; e < kWordsPerBlock; ++e) {
    if (words.word[e] >= mask.threshold) bits |= 1U << e;
  }
  return bits;
}

/// Returns elements of which kept_bits() are the lowest four `bits`.
__device__ inline float4 dropped(const float4& four, float scale, std::uint32_t bits) {
  return make_float4(
      (bits & 1U) != 0 ? four.x * scale : 0.0F, (bits & 2U) != 0 ? four.y * scale : 0.0F,
      (bits & 4U) != 0 ? four.z * scale : 0.0F, (bits & 8U) != 0 ? four.w * scale : 0.0F);
}

/// Elements in 16 bytes.
template <typename T>
inline constexpr int kVectorElements = 16 / static_cast<int>(sizeof(T));

__device__ inline void unpack(const uint4& vector, float (&values)[4]) {
  values[0] = __uint_as_float(vector.x);
  values[1] = __uint_as_float(vector.y);
  values[2] = __uint_as_float(vector.z);
  values[3] = __uint_as_float(vector.w);
}

__device__ inline void unpack(const uint4& vector, float (&values)[8]) {
  const std::uint32_t words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = floats_of(words[i]);
    values[2 * i] = pair.x;
    values[2 * i + 1] = pair.y;
  }
}

__device__ inline uint4 packed(const float (&values)[4]) {
  return make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]),
                    __float_as_uint(values[2]), __float_as_uint(values[3]));
}

__device__ inline uint4 packed(const float (&values)[8]) {
  return make_uint4(rounded_word(values[0], values[1]), rounded_word(values[2], values[3]),
                    rounded_word(values[4], values[5]), rounded_word(values[6], values[7]));
}

}  // namespace linkgain::kernels
