#include "linkgain/gpu/matrix_product.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <set>
#include <stdexcept>

#include "gpu_fixture.hpp"
#include "kernels/random/philox.hpp"
#include "linkgain/gpu/device.hpp"
#include "support/bfloat16.hpp"

namespace linkgain::test {
namespace {

using namespace gpu;
using kernels::TrainingPrecision;
using MatrixProductTest = GpuTest;

/// Numbers on the host that a device holds as float32 or bfloat16.
struct Numbers {
  std::vector<float> values;
  DataType type;
  DeviceBuffer memory;

  Numbers(std::int64_t count, DataType type_, std::uint32_t place)
      : values(static_cast<std::size_t>(count)), type(type_), memory({count * size_of(type_)}) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(kernels::random_normal({7, 210, place, 0}, i));
      // Both sides have to multiply the same numbers.
      if (type == DataType::bfloat16) values[i] = from_bfloat16(to_bfloat16(values[i]));
    }
  }

  void upload_to(const Stream& stream) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(memory.size().value));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (type == DataType::bfloat16) {
        const std::uint16_t bits = to_bfloat16(values[i]);
        std::memcpy(&bytes[2 * i], &bits, 2);
      } else {
        std::memcpy(&bytes[4 * i], &values[i], 4);
      }
    }
    upload(memory, bytes, stream);
  }

  void download_from(const Stream& stream) {
    const std::vector<std::uint8_t> bytes = download(memory, stream);
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint16_t bits = 0;
      if (type == DataType::bfloat16) {
        std::memcpy(&bits, &bytes[2 * i], 2);
        values[i] = from_bfloat16(bits);
      } else {
        std::memcpy(&values[i], &bytes[4 * i], 4);
      }
    }
  }
};

/// Returns the error allowed, in parts of the square root of `inner` (all factors are about 1).
double bound_of(const ProductShape& shape) {
  if (shape.result == DataType::bfloat16) return 0.02;  // of the result: 2^-9 of some 4 deviations
  switch (shape.precision) {
    case TrainingPrecision::fp32:
      return 2e-5;
    case TrainingPrecision::tf32:
      return 8e-3;  // factors of 11 bits
    case TrainingPrecision::bf16:
      return 2e-5;  // products of 8 bits are exact in float32
  }
  throw std::invalid_argument("no such precision");
}

/// Multiplies random matrices and compares every element; nothing around the result may change.
void expect_product(MatrixProducts& products, const ProductShape& shape, const Stream& stream) {
  const DataType type =
      shape.precision == TrainingPrecision::bf16 ? DataType::bfloat16 : DataType::float32;
  const std::int64_t own_stride = shape.left_transposed ? shape.rows : shape.inner;
  const std::int64_t stride = shape.left_stride != 0 ? shape.left_stride : own_stride;
  Numbers left(stride * (shape.left_transposed ? shape.inner : shape.rows), type, 0);
  Numbers right(shape.inner * shape.columns, type, 1);
  Numbers bias(shape.columns, shape.result, 2);
  constexpr std::int64_t kBehind = 64;
  Numbers result(shape.rows * shape.columns + kBehind, shape.result, 3);
  for (Numbers* numbers : {&left, &right, &bias, &result}) numbers->upload_to(stream);
  const std::vector<float> before = result.values;
  const ProductOperands operands{left.memory.data(), right.memory.data(), bias.memory.data(),
                                 result.memory.data()};
  const ProductPlan& plan = products.plan(shape, operands, stream);
  result.upload_to(stream);  // the search may have added to it
  products.multiply(plan, operands, stream);
  result.download_from(stream);
  const double bound = bound_of(shape) * std::sqrt(static_cast<double>(shape.inner));
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    for (std::int64_t j = 0; j < shape.columns; ++j) {
      double sum = shape.has_bias ? bias.values[static_cast<std::size_t>(j)] : 0.0;
      if (shape.adds) sum += before[static_cast<std::size_t>(i * shape.columns + j)];
      for (std::int64_t k = 0; k < shape.inner; ++k) {
        const std::int64_t at_left = shape.left_transposed ? k * stride + i : i * stride + k;
        const std::int64_t at_right =
            shape.right_transposed ? j * shape.inner + k : k * shape.columns + j;
        sum += static_cast<double>(left.values[static_cast<std::size_t>(at_left)]) *
               right.values[static_cast<std::size_t>(at_right)];
      }
      ASSERT_NEAR(result.values[static_cast<std::size_t>(i * shape.columns + j)], sum, bound)
          << description(shape) << " at " << i << ", " << j;
    }
  }
  for (std::size_t i = static_cast<std::size_t>(shape.rows * shape.columns); i < before.size();
       ++i) {
    ASSERT_EQ(result.values[i], before[i]) << description(shape);
  }
}

TEST_F(MatrixProductTest, multiplies_in_every_form_and_precision) {
  const Stream stream;
  MatrixProducts products;
  for (const auto precision :
       {TrainingPrecision::fp32, TrainingPrecision::tf32, TrainingPrecision::bf16}) {
    if (precision == TrainingPrecision::bf16 && !has_bfloat16()) continue;
    for (const bool is_short : {false, true}) {
      if (is_short && precision != TrainingPrecision::bf16) continue;
      const DataType type = is_short ? DataType::bfloat16 : DataType::float32;
      ProductShape shape{
          .rows = 96, .columns = 64, .inner = 160, .precision = precision, .result = type};
      expect_product(products, shape, stream);
      // Only activations have biases.
      shape.has_bias = precision != TrainingPrecision::bf16 || is_short;
      expect_product(products, shape, stream);
      shape.right_transposed = true;
      expect_product(products, shape, stream);
      shape.has_bias = false;
      shape.right_transposed = false;
      shape.left_transposed = true;
      expect_product(products, shape, stream);
    }
  }
}

// Takes shapes as the token embedding's gradient has them: rows that are no multiple of anything,
// from a wider matrix.
TEST_F(MatrixProductTest, takes_the_first_columns_of_a_wider_matrix) {
  const Stream stream;
  MatrixProducts products;
  for (const auto precision :
       {TrainingPrecision::fp32, TrainingPrecision::tf32, TrainingPrecision::bf16}) {
    if (precision == TrainingPrecision::bf16 && !has_bfloat16()) continue;
    expect_product(products,
                   {.rows = 131,
                    .columns = 64,
                    .inner = 96,
                    .left_transposed = true,
                    .left_stride = 192,
                    .precision = precision},
                   stream);
  }
}

TEST_F(MatrixProductTest, adds_to_what_is_there) {
  const Stream stream;
  MatrixProducts products;
  expect_product(products,
                 {.rows = 192,
                  .columns = 64,
                  .inner = 96,
                  .left_transposed = true,
                  .precision = TrainingPrecision::fp32,
                  .adds = true},
                 stream);
}

constexpr Bytes kTwoMatrices{2 << 20};

/// Puts both factors into the first half, the product into the second.
ProductOperands operands_in(const DeviceBuffer& memory) {
  return {memory.data(), memory.data(), nullptr, static_cast<char*>(memory.data()) + (1 << 20)};
}

TEST_F(MatrixProductTest, plans_each_shape_once) {
  const Stream stream;
  MatrixProducts products;
  const ProductShape shape{.rows = 128, .columns = 256, .inner = 512};
  const DeviceBuffer memory(kTwoMatrices);
  const ProductOperands operands = operands_in(memory);
  enqueue_fill(memory.data(), 0, memory.size(), stream);
  const ProductPlan& first = products.plan(shape, operands, stream);
  EXPECT_EQ(&products.plan(shape, operands, stream), &first);
  ProductShape other = shape;
  other.precision = TrainingPrecision::tf32;
  EXPECT_NE(&products.plan(other, operands, stream), &first);
  ASSERT_FALSE(first.candidates().empty());
  EXPECT_LT(first.chosen(), first.candidates().size());
  EXPECT_LE(first.candidates().size(), 8U);
  for (const ProductCandidate& candidate : first.candidates()) {
    EXPECT_FALSE(candidate.algorithm.empty());
    EXPECT_EQ(candidate.time.value > 0.0, first.candidates().size() > 1);
  }
}

TEST_F(MatrixProductTest, takes_the_first_choice_where_it_must_not_measure) {
  const Stream stream;
  MatrixProducts products({.measure = false});
  const DeviceBuffer memory(kTwoMatrices);
  const ProductOperands operands = operands_in(memory);
  const ProductPlan& plan =
      products.plan({.rows = 128, .columns = 256, .inner = 512}, operands, stream);
  EXPECT_EQ(plan.chosen(), 0U);
  for (const ProductCandidate& candidate : plan.candidates()) {
    EXPECT_EQ(candidate.time.value, 0.0);
  }
}

TEST_F(MatrixProductTest, takes_what_another_has_chosen_without_a_search) {
  const Stream stream;
  const DeviceBuffer memory(kTwoMatrices);
  const ProductOperands operands = operands_in(memory);
  const ProductShape shape{.rows = 128, .columns = 256, .inner = 512};
  MatrixProducts offering({.measure = false});
  const auto candidates = offering.plan(shape, operands, stream).candidates();
  const std::string last = candidates.back().algorithm;
  MatrixProducts told({.chosen = {last, "none that there is"}});
  const ProductPlan& plan = told.plan(shape, operands, stream);
  EXPECT_EQ(plan.candidates()[plan.chosen()].algorithm, last);
  EXPECT_EQ(plan.candidates()[0].time.value, 0.0) << "not timed";
  const ProductPlan& other =
      told.plan({.rows = 256, .columns = 128, .inner = 512}, operands, stream);
  EXPECT_LT(other.chosen(), other.candidates().size()) << "found by a search of its own";
  EXPECT_THAT(told.chosen(),
              ::testing::ElementsAre(last, other.candidates()[other.chosen()].algorithm));
}

TEST_F(MatrixProductTest, names_no_two_candidates_alike) {
  const Stream stream;
  MatrixProducts products({.measure = false});
  const DeviceBuffer memory(kTwoMatrices);
  const ProductOperands operands = operands_in(memory);
  std::set<std::string> names;
  const auto candidates =
      products.plan({.rows = 128, .columns = 256, .inner = 512}, operands, stream).candidates();
  for (const ProductCandidate& each : candidates) names.insert(each.algorithm);
  EXPECT_EQ(names.size(), candidates.size());
}

TEST_F(MatrixProductTest, refuses_addresses_that_are_not_aligned) {
  const Stream stream;
  MatrixProducts products({.measure = false});
  const DeviceBuffer memory({1 << 20});
  char* const data = static_cast<char*>(memory.data());
  const ProductPlan& plan = products.plan({.rows = 64, .columns = 64, .inner = 64}, {}, stream);
  EXPECT_THROW(products.multiply(plan, {data + 4, data, nullptr, data + 65536}, stream),
               std::logic_error);
  EXPECT_THROW(products.multiply(plan, {data, nullptr, nullptr, data + 65536}, stream),
               std::logic_error);
  EXPECT_THROW(products.multiply(plan, {data, data, nullptr, data + 65540}, stream),
               std::logic_error);
}

}  // namespace
}  // namespace linkgain::test
