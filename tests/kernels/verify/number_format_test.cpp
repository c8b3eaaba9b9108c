#include "number_format.hpp"

#include <gtest/gtest.h>

namespace linkgain::kernels {
namespace {

TEST(NumberFormat, agrees_with_the_compilers_own_types) {
  for (const double value : {0.0, 1.0, -1.5, 0.1, 1e-40, 3e38, -1.0 / 3.0, 16777217.0}) {
    const auto narrow = static_cast<float>(value);
    std::uint32_t narrow_bits = 0;
    std::uint64_t wide_bits = 0;
    std::memcpy(&narrow_bits, &narrow, sizeof(narrow));
    std::memcpy(&wide_bits, &value, sizeof(value));
    EXPECT_EQ(round_to(ElementType::float32, value), static_cast<double>(narrow));
    EXPECT_EQ(encode_float(ElementType::float32, static_cast<double>(narrow)), narrow_bits);
    EXPECT_EQ(encode_float(ElementType::float64, value), wide_bits);
    EXPECT_EQ(decode_float(ElementType::float64, wide_bits), value);
  }
}

TEST(NumberFormat, agrees_with_published_encodings) {
  EXPECT_EQ(encode_float(ElementType::float16, 1.0), 0x3c00u);
  EXPECT_EQ(encode_float(ElementType::float16, -2048.0), 0xe800u);
  EXPECT_EQ(encode_float(ElementType::bfloat16, 1.0), 0x3f80u);
  EXPECT_EQ(encode_float(ElementType::float8e4m3, 448.0), 0x7eu);
  EXPECT_EQ(encode_float(ElementType::float8e4m3, std::ldexp(1.0, -9)), 0x01u);
  EXPECT_EQ(encode_float(ElementType::float8e5m2, 57344.0), 0x7bu);
  EXPECT_EQ(round_to(ElementType::float8e5m2, 9.0), 8.0);
  EXPECT_EQ(round_to(ElementType::float8e4m3, 1.0 / 7.0), 9.0 / 64.0);
  EXPECT_EQ(infinity_bits(ElementType::float8e5m2), 0x7cu);
  EXPECT_EQ(infinity_bits(ElementType::float32), 0x7f800000u);
  for (const ElementType type : kAllTypes) {
    if (traits_of(type).is_integer) continue;
    EXPECT_TRUE(std::isnan(decode_float(type, format_of(type).nan_bits)));
    EXPECT_EQ(decode_float(type, encode_float(type, -6.0)), -6.0);
  }
}

}  // namespace
}  // namespace linkgain::kernels
