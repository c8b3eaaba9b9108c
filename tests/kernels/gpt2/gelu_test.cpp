#include "kernels/gpt2/gelu.hpp"

#include <numbers>
#include <string>

#include "kernels/gpt2/column_sums.hpp"
#include "kernels/gpt2/device_array.hpp"

namespace linkgain::kernels {
namespace {

struct Shape {
  std::int64_t rows;
  int columns;
};

constexpr Shape kShapes[] = {{1, 8},      {5, 64},     {16, 72},   {37, 264},
                             {130, 3072}, {1031, 192}, {4096, 768}};

/// Within a thread up to 500 rows, then 8 warps and 13 roundings for up to 256 blocks: terms of one
/// sign would lose 520 * 2^-24 of their sum in the worst case.
constexpr double kSumError = 520 * 0x1p-24;

double gelu(double x) {
  const double inner = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1.0 + std::tanh(inner));
}

double gelu_slope(double x) {
  const double factor = std::sqrt(2.0 / std::numbers::pi);
  const double t = std::tanh(factor * (x + 0.044715 * x * x * x));
  const double slope = factor * (1.0 + 3.0 * 0.044715 * x * x);
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope;
}

/// Returns values mostly where GELU bends, with some large ones.
Values gelu_inputs(ElementType type, std::int64_t count) {
  Values values = noise(type, 7, count, 6.0);
  const double extremes[] = {0.0, -0.0, 100.0, -100.0, 1e4, -1e4, 1e-30, -12.0};
  for (std::size_t i = 0; i < values.size(); i += 97) {
    values[i] = rounded_to(type, extremes[i / 97 % std::size(extremes)]);
  }
  return values;
}

std::string name_of(ElementType type, const Shape& shape) {
  return std::to_string(shape.rows) + " x " + std::to_string(shape.columns) +
         (type == ElementType::float32 ? " float32" : " bfloat16");
}

class Gelu : public test::GpuTest {};

/// Allows an exponent below 30 a relative error of 3 * 2^-24 from its polynomial, which its power
/// has 21 times, and the power 2^-22 of its own; further out GELU is below 1e-8 or x itself.
TEST_F(Gelu, is_the_tanh_form) {
  const gpu::Stream stream;
  for (const ElementType type : kActivationTypes) {
    for (const std::int64_t count : {8, 16, 1000, 4104, 1 << 20}) {
      const Values inputs = gelu_inputs(type, count);
      const DeviceArray input(type, inputs);
      const DeviceArray output(type, count);
      gpu::check(gelu_forward(type, input.data(), output.data(), count, stream.get()));
      Values expected;
      for (const double x : inputs) expected.push_back(gelu(x));
      expect_close(output.values(), expected, rounding_error(type) + 5e-6, 2e-8);
      gpu::check(gelu_forward(type, input.data(), input.data(), count, stream.get()));
      EXPECT_EQ(input.bits(), output.bits());
    }
  }
}

struct BackwardRun {
  BackwardRun(ElementType type, const Shape& shape, const Values& inputs, const Values& gradients,
              bool has_bias)
      : input(type, inputs), gradient(type, gradients), bias(ElementType::float32, shape.columns) {
    const gpu::Stream stream;
    const DeviceArray scratch = scratch_of(column_sums_scratch(shape.columns));
    gpu::check(gelu_backward(type, shape.rows, shape.columns, input.data(), gradient.data(),
                             has_bias ? bias.floats() : nullptr,
                             has_bias ? scratch.data() : nullptr, stream.get()));
    stream.synchronize();
    scratch.bits();  // its guards
  }

  DeviceArray input;
  DeviceArray gradient;
  DeviceArray bias;
};

TEST_F(Gelu, has_its_slope_as_gradient_and_sums_it_up_for_the_bias) {
  // As above; the slope's second term has it up to 4 times, around |x| = 3.
  constexpr double kSlopeError = 5e-6;
  for (const ElementType type : kActivationTypes) {
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(name_of(type, shape));
      const Values inputs = gelu_inputs(type, shape.rows * shape.columns);
      const Values gradients = noise(type, 8, shape.rows * shape.columns);
      const BackwardRun run(type, shape, inputs, gradients, true);
      Values expected;
      CheckedSums bias(shape.columns);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        expected.push_back(gradients[i] * gelu_slope(inputs[i]));
        bias.add(static_cast<std::int64_t>(i) % shape.columns, expected.back());
      }
      expect_close(run.gradient.values(), expected, rounding_error(type), kSlopeError);
      bias.expect(run.bias.values(), kSumError, kSlopeError);
      EXPECT_EQ(run.input.values(), inputs);
      const BackwardRun again(type, shape, inputs, gradients, true);
      EXPECT_EQ(again.gradient.bits(), run.gradient.bits());
      EXPECT_EQ(again.bias.bits(), run.bias.bits());
      const BackwardRun without(type, shape, inputs, gradients, false);
      EXPECT_EQ(without.gradient.bits(), run.gradient.bits());
    }
  }
}

class ColumnSums : public test::GpuTest {};

TEST_F(ColumnSums, sum_up_every_row) {
  const gpu::Stream stream;
  for (const ElementType type : kActivationTypes) {
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(name_of(type, shape));
      const Values values = noise(type, 9, shape.rows * shape.columns);
      const DeviceArray matrix(type, values);
      const DeviceArray scratch = scratch_of(column_sums_scratch(shape.columns));
      CheckedSums expected(shape.columns);
      for (std::size_t i = 0; i < values.size(); ++i) {
        expected.add(static_cast<std::int64_t>(i) % shape.columns, values[i]);
      }
      Bits bits;
      for (int run = 0; run < 2; ++run) {
        const DeviceArray sums(ElementType::float32, shape.columns);
        gpu::check(column_sums(type, shape.rows, shape.columns, matrix.data(), sums.floats(),
                               scratch.data(), stream.get()));
        expected.expect(sums.values(), kSumError, 0.0);
        if (run == 0) bits = sums.bits();
        EXPECT_EQ(sums.bits(), bits);
        scratch.bits();
      }
    }
  }
}

TEST_F(ColumnSums, are_zero_for_no_rows) {
  const gpu::Stream stream;
  const DeviceArray sums(ElementType::float32, 64);
  const DeviceArray scratch = scratch_of(column_sums_scratch(64));
  gpu::check(column_sums(ElementType::bfloat16, 0, 64, nullptr, sums.floats(), scratch.data(),
                         stream.get()));
  EXPECT_EQ(sums.values(), Values(64, 0.0));
}

TEST_F(ColumnSums, refuse_what_does_not_fit) {
  const DeviceArray memory(ElementType::float32, 1024);
  const auto sum = [&](ElementType type, int columns, const void* matrix) {
    return column_sums(type, 2, columns, matrix, memory.floats(), memory.data(), nullptr);
  };
  EXPECT_EQ(sum(ElementType::float32, 12, memory.data()), cudaErrorInvalidValue);
  EXPECT_EQ(sum(ElementType::int32, 16, memory.data()), cudaErrorInvalidValue);
  EXPECT_EQ(sum(ElementType::float32, 16, memory.floats() + 1), cudaErrorInvalidValue);
  EXPECT_EQ(gelu_forward(ElementType::float32, memory.data(), memory.data(), 12, nullptr),
            cudaErrorInvalidValue);
}

}  // namespace
}  // namespace linkgain::kernels
