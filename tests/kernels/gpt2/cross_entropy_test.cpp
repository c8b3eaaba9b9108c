#include "kernels/gpt2/cross_entropy.hpp"

#include <limits>
#include <string>

#include "device_array.hpp"

namespace linkgain::kernels {
namespace {

constexpr double kScale = 0.25;

/// Rows that fit into shared memory twice, once or not at all, on devices with 64 to 227 KiB of it.
constexpr LossShape kShapes[] = {{3, 131, 192},        {5, 1, 8},          {9, 64, 64},
                                 {2, 2050, 2304},      {64, 50257, 50304}, {3, 70'001, 70'016},
                                 {2, 120'000, 120'064}};

struct Inputs {
  Inputs(ElementType type, const LossShape& shape)
      : logits(noise(type, 3, shape.rows * shape.padded, 20.0)) {
    for (std::int64_t i = 0; i < shape.rows; ++i) {
      const std::uint64_t word = mix(static_cast<std::uint64_t>(i) + 5);
      // The first and last columns among them.
      const std::int64_t target =
          i == 0   ? shape.vocabulary - 1
          : i == 1 ? 0
                   : static_cast<std::int64_t>(word % static_cast<unsigned>(shape.vocabulary));
      targets.push_back(static_cast<double>(target));
      for (std::int64_t j = shape.vocabulary; j < shape.padded; ++j) {
        logits[static_cast<std::size_t>(i * shape.padded + j)] = 1e30;
      }
    }
  }

  Values logits;
  Values targets;
};

struct Expected {
  Values losses;
  Values gradients;
};

Expected expected_of(const LossShape& shape, const Inputs& inputs) {
  Expected expected{{}, Values(inputs.logits.size(), 0.0)};
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    const double* row = inputs.logits.data() + i * shape.padded;
    double* gradients = expected.gradients.data() + i * shape.padded;
    const auto target = static_cast<std::int64_t>(inputs.targets[static_cast<std::size_t>(i)]);
    const double largest = *std::max_element(row, row + shape.vocabulary);
    double sum = 0.0;
    for (int j = 0; j < shape.vocabulary; ++j) sum += std::exp(row[j] - largest);
    for (int j = 0; j < shape.vocabulary; ++j) {
      gradients[j] = kScale * std::exp(row[j] - largest) / sum;
    }
    gradients[target] -= kScale;
    expected.losses.push_back(std::log(sum) + largest - row[target]);
  }
  return expected;
}

struct LossRun {
  LossRun(ElementType type, const LossShape& shape, const Inputs& inputs)
      : logits(type, inputs.logits),
        losses(ElementType::float32, shape.rows),
        mean(ElementType::float32, 1) {
    const gpu::Stream stream;
    const DeviceArray targets(ElementType::int32, inputs.targets);
    gpu::check(token_loss(type, shape, targets.integers(), static_cast<float>(kScale),
                          logits.data(), losses.floats(), mean.floats(), stream.get()));
    stream.synchronize();
  }

  DeviceArray logits;
  DeviceArray losses;
  DeviceArray mean;
};

class TokenLoss : public test::GpuTest {};

TEST_F(TokenLoss, is_the_cross_entropy_and_its_gradient) {
  for (const ElementType type : kActivationTypes) {
    for (const LossShape& shape : kShapes) {
      SCOPED_TRACE(std::to_string(shape.rows) + " x " + std::to_string(shape.vocabulary) +
                   (type == ElementType::float32 ? " float32" : " bfloat16"));
      const Inputs inputs(type, shape);
      const Expected expected = expected_of(shape, inputs);
      const LossRun run(type, shape, inputs);
      // Exponents are below 58: 2^-19 of error in the worst case, that of sums less than as much.
      expect_close(run.losses.values(), expected.losses, 0.0, 1e-5);
      expect_close(run.logits.values(), expected.gradients, rounding_error(type) + 1e-5,
                   1e-6 * kScale);
      double mean = 0.0;
      for (const double loss : run.losses.values()) mean += loss;
      mean /= static_cast<double>(shape.rows);
      expect_close(run.mean.values(), {mean}, 0x1p-23, 0.0);
      const LossRun again(type, shape, inputs);
      EXPECT_EQ(again.logits.bits(), run.logits.bits());
      EXPECT_EQ(again.losses.bits(), run.losses.bits());
      EXPECT_EQ(again.mean.bits(), run.mean.bits());
    }
  }
}

TEST_F(TokenLoss, never_sees_the_padding) {
  for (const ElementType type : kActivationTypes) {
    for (const LossShape& shape : {LossShape{2, 131, 192}, LossShape{2, 119'999, 120'064}}) {
      Inputs inputs(type, shape);
      const LossRun plain(type, shape, inputs);
      for (std::int64_t i = 0; i < shape.rows; ++i) {
        for (std::int64_t j = shape.vocabulary; j < shape.padded; ++j) {
          inputs.logits[static_cast<std::size_t>(i * shape.padded + j)] =
              std::numeric_limits<double>::infinity();
        }
      }
      const LossRun other(type, shape, inputs);
      EXPECT_EQ(other.logits.bits(), plain.logits.bits());
      EXPECT_EQ(other.losses.bits(), plain.losses.bits());
      const Values gradients = other.logits.values();
      for (std::int64_t j = shape.vocabulary; j < shape.padded; ++j) {
        ASSERT_EQ(gradients[static_cast<std::size_t>(j)], 0.0);
      }
    }
  }
}

TEST_F(TokenLoss, shows_logits_that_are_no_numbers) {
  const LossShape shape{2, 131, 192};
  Inputs inputs(ElementType::float32, shape);
  inputs.logits[17] = std::numeric_limits<double>::quiet_NaN();
  const LossRun run(ElementType::float32, shape, inputs);
  EXPECT_TRUE(std::isnan(run.losses.values()[0]));
  EXPECT_FALSE(std::isnan(run.losses.values()[1]));
  EXPECT_TRUE(std::isnan(run.mean.values()[0]));
}

TEST_F(TokenLoss, refuses_what_does_not_fit) {
  const DeviceArray memory(ElementType::float32, 1024);
  const auto loss = [&](const LossShape& shape) {
    return token_loss(ElementType::float32, shape, memory.integers(), 1.0F, memory.data(),
                      memory.floats(), memory.floats(), nullptr);
  };
  EXPECT_EQ(loss({0, 8, 8}), cudaErrorInvalidValue);
  EXPECT_EQ(loss({1, 9, 8}), cudaErrorInvalidValue);
  EXPECT_EQ(loss({1, 9, 12}), cudaErrorInvalidValue);
  EXPECT_EQ(loss({1, 0, 8}), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace linkgain::kernels
