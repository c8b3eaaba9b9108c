#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/common/element.hpp"

namespace linkgain::kernels {

inline const std::vector<ElementType> kAllTypes{
    ElementType::float32, ElementType::float16, ElementType::bfloat16,   ElementType::float64,
    ElementType::int8,    ElementType::uint8,   ElementType::int32,      ElementType::uint32,
    ElementType::int64,   ElementType::uint64,  ElementType::float8e4m3, ElementType::float8e5m2};

inline const std::vector<ReductionKind> kAllReductions{ReductionKind::sum, ReductionKind::prod,
                                                       ReductionKind::min, ReductionKind::max,
                                                       ReductionKind::avg, ReductionKind::mulsum};

/// A binary floating format in software, so that tests need neither a GPU nor CUDA's headers to
/// say what a type's arithmetic gives.
struct FloatFormat {
  int significand_bits;  ///< with the hidden bit
  int exponent_bits;
  int bias;
  std::uint64_t nan_bits;
};

inline FloatFormat format_of(ElementType type) {
  if (type == ElementType::float64) return {53, 11, 1023, 0x7ff8000000000000};
  if (type == ElementType::float16) return {11, 5, 15, 0x7e00};
  if (type == ElementType::bfloat16) return {8, 8, 127, 0x7fc0};
  if (type == ElementType::float8e4m3) return {4, 4, 7, 0x7f};
  if (type == ElementType::float8e5m2) return {3, 5, 15, 0x7e};
  return {24, 8, 127, 0x7fc00000};
}

/// Rounds to the nearest number of the type, ties to even. Overflow is not modelled.
inline double round_to(ElementType type, double value) {
  if (value == 0.0 || type == ElementType::float64) return value;
  const FloatFormat format = format_of(type);
  const int exponent = std::max(std::ilogb(value), 1 - format.bias);
  const double quantum = std::ldexp(1.0, exponent - format.significand_bits + 1);
  return std::nearbyint(value / quantum) * quantum;
}

/// Returns the bits of a number that the floating type represents.
inline std::uint64_t encode_float(ElementType type, double value) {
  const FloatFormat format = format_of(type);
  const int fraction_bits = format.significand_bits - 1;
  const std::uint64_t sign = std::signbit(value) ? 1 : 0;
  std::uint64_t magnitude = 0;
  if (value != 0.0) {
    const int exponent = std::max(std::ilogb(value), 1 - format.bias);
    const auto significand =
        static_cast<std::uint64_t>(std::ldexp(std::fabs(value), fraction_bits - exponent));
    // The hidden bit carries into the exponent; without one the number is subnormal.
    magnitude =
        (static_cast<std::uint64_t>(exponent + format.bias - 1) << fraction_bits) + significand;
  }
  return sign << (fraction_bits + format.exponent_bits) | magnitude;
}

/// Reads bits as a number. Only float8e4m3's all-ones is NaN, and it has no infinity.
inline double decode_float(ElementType type, std::uint64_t bits) {
  const FloatFormat format = format_of(type);
  const int fraction_bits = format.significand_bits - 1;
  const std::uint64_t most = (std::uint64_t{1} << format.exponent_bits) - 1;
  const std::uint64_t exponent = bits >> fraction_bits & most;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << fraction_bits) - 1);
  const double sign = (bits >> (fraction_bits + format.exponent_bits) & 1) != 0 ? -1.0 : 1.0;
  if (type == ElementType::float8e4m3 ? (exponent == most && fraction == 7)
                                      : (exponent == most && fraction != 0)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (type != ElementType::float8e4m3 && exponent == most) {
    return sign * std::numeric_limits<double>::infinity();
  }
  const std::uint64_t hidden = exponent == 0 ? 0 : std::uint64_t{1} << fraction_bits;
  const int power = static_cast<int>(exponent == 0 ? 1 : exponent) - format.bias - fraction_bits;
  return sign * std::ldexp(static_cast<double>(hidden + fraction), power);
}

/// Needs a type that has infinity.
inline std::uint64_t infinity_bits(ElementType type) {
  const FloatFormat format = format_of(type);
  return ((std::uint64_t{1} << format.exponent_bits) - 1) << (format.significand_bits - 1);
}

/// Keeps the lowest bits of a type's width.
inline std::uint64_t truncate(ElementType type, std::uint64_t bits) {
  const int width = 8 * traits_of(type).bytes;
  return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

/// Wraps an integer modulo 2^bits of its type.
inline std::uint64_t encode_integer(ElementType type, std::int64_t value) {
  return truncate(type, static_cast<std::uint64_t>(value));
}

/// Reads bits as an integer; uint64 above the range of the result comes out negative.
inline std::int64_t decode_integer(ElementType type, std::uint64_t bits) {
  const int unused = 64 - 8 * traits_of(type).bytes;
  if (!traits_of(type).is_signed) return static_cast<std::int64_t>(truncate(type, bits));
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

inline double decode(ElementType type, std::uint64_t bits) {
  if (!traits_of(type).is_integer) return decode_float(type, bits);
  const std::int64_t value = decode_integer(type, bits);
  return traits_of(type).is_signed ? static_cast<double>(value)
                                   : static_cast<double>(static_cast<std::uint64_t>(value));
}

/// Appends an element as it lies in memory (little-endian, as everywhere CUDA runs).
inline void append(std::vector<std::uint8_t>& memory, ElementType type, std::uint64_t bits) {
  for (int byte = 0; byte < traits_of(type).bytes; ++byte) {
    memory.push_back(static_cast<std::uint8_t>(bits >> (8 * byte)));
  }
}

inline std::uint64_t element_at(const std::vector<std::uint8_t>& memory, ElementType type,
                                std::size_t position) {
  const auto bytes = static_cast<std::size_t>(traits_of(type).bytes);
  std::uint64_t bits = 0;
  std::memcpy(&bits, memory.data() + position * bytes, bytes);
  return bits;
}

inline void set_element(std::vector<std::uint8_t>& memory, ElementType type, std::size_t position,
                        std::uint64_t bits) {
  const auto bytes = static_cast<std::size_t>(traits_of(type).bytes);
  std::memcpy(memory.data() + position * bytes, &bits, bytes);
}

}  // namespace linkgain::kernels
