#pragma once

#include <bit>
#include <cstdint>

namespace linkgain::test {

/// Returns the bits of the nearest bfloat16, of two as near the even one; takes no NaN.
inline std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

inline float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace linkgain::test
