#pragma once

namespace linkgain::kernels {

// The enumerations of base/data_type.hpp again, in the same order: kernels include nothing of ours.
enum class ElementType {
  float32,
  float16,
  bfloat16,
  float64,
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  float8e4m3,
  float8e5m2,
};

enum class ReductionKind { sum, prod, min, max, avg, mulsum };

/// How numbers are multiplied: in strict single precision, by TF32 tensor cores on single precision
/// memory, or by bfloat16 tensor cores on bfloat16 memory. Sums are float32 in all three.
enum class TrainingPrecision { fp32, tf32, bf16 };

/// What the pattern has to know of an element type.
struct ElementTraits {
  int bytes;
  bool is_integer;
  bool is_signed;
  /// The hidden bit included: every integer of at most 2^significand_bits is represented. 0 for
  /// integer types.
  int significand_bits;
};

constexpr ElementTraits traits_of(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return {4, false, true, 24};
    case ElementType::float16:
      return {2, false, true, 11};
    case ElementType::bfloat16:
      return {2, false, true, 8};
    case ElementType::float64:
      return {8, false, true, 53};
    case ElementType::int8:
      return {1, true, true, 0};
    case ElementType::uint8:
      return {1, true, false, 0};
    case ElementType::int32:
      return {4, true, true, 0};
    case ElementType::uint32:
      return {4, true, false, 0};
    case ElementType::int64:
      return {8, true, true, 0};
    case ElementType::uint64:
      return {8, true, false, 0};
    case ElementType::float8e4m3:
      return {1, false, true, 4};
    case ElementType::float8e5m2:
      return {1, false, true, 3};
  }
  return {0, false, false, 0};
}

}  // namespace linkgain::kernels
