#pragma once

#include <cstdint>

// A hash of numbers in memory that any number of threads can share: the sum of what each element
// contributes, modulo 2^64, so that their order does not matter.

#ifdef __CUDACC__
#define LINKGAIN_BOTH __host__ __device__
#else
#define LINKGAIN_BOTH
#endif

namespace linkgain::kernels {

/// Every bit of the result depends on every bit of `value`, and different values give different
/// results (two rounds of xorshift and multiplication by odd numbers can be undone).
LINKGAIN_BOTH constexpr std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 32;
  value *= 0x9E3779B97F4A7C15U;
  value ^= value >> 29;
  value *= 0xD1B54A32D192ED03U;
  return value ^ (value >> 32);
}

/// What the element at `index` of the whole buffer adds; `bits` are its own, zero-extended.
LINKGAIN_BOTH constexpr std::uint64_t hash_contribution(std::int64_t index, std::uint64_t bits) {
  return mix(bits + mix(static_cast<std::uint64_t>(index) + 1));
}

}  // namespace linkgain::kernels

#undef LINKGAIN_BOTH
