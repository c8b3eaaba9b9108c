#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "model_steps.hpp"

// The reference's gradients against differences of its loss.
namespace linkgain::test {
namespace {

constexpr double kMostError = 1e-6;

class ReferenceGradients : public ::testing::TestWithParam<double> {
 protected:
  ReferenceGradients() {
    roughen(*model_, 0.15);
    tokens_ = generated_batch(config_, {}, shape_);
    run_gradients(*model_, input());
    parameters_ = parameters_of(*model_);
    gradients_ = gradients_of(*model_);
  }

  StepInput input() const { return {.tokens = tokens_, .step = 4, .first_sample = 6}; }

  /// The loss with the parameters moved by `distance` along `direction`, which begins at `offset`.
  double loss_at(std::int64_t offset, const std::vector<double>& direction, double distance) {
    const ParameterRange range{offset, static_cast<std::int64_t>(direction.size())};
    std::vector<double> moved(direction.size());
    for (std::size_t i = 0; i < moved.size(); ++i) {
      moved[i] = parameters_[static_cast<std::size_t>(offset) + i] + distance * direction[i];
    }
    model_->write_parameters(range, moved.data());
    const double loss = run_forward(*model_, input());
    model_->write_parameters(range, parameters_.data() + offset);
    return loss;
  }

  /// By central differences of fourth order: their error is that of the fifth derivative.
  double slope(std::int64_t offset, const std::vector<double>& direction) {
    const auto difference = [&](double distance) {
      return loss_at(offset, direction, distance) - loss_at(offset, direction, -distance);
    };
    constexpr double kDistance = 2e-3;
    return (8.0 * difference(kDistance) - difference(2.0 * kDistance)) / (12.0 * kDistance);
  }

  const double* gradient_of(const ParameterTensor& tensor) const {
    return gradients_.data() + tensor.offset;
  }

  const Gpt2Config config_ = gpt2_config(ModelSize::tiny);
  // Shorter than the model's positions: the rest of wpe has no gradient.
  const BatchShape shape_{2, 20};
  const std::unique_ptr<TrainingModel> model_ =
      make_reference_model({config_, shape_, GetParam(), 5});
  std::vector<std::int32_t> tokens_;
  std::vector<double> parameters_;
  std::vector<double> gradients_;
};

/// A step of length 1 in which every element of the tensor has the same share, with random signs.
std::vector<double> mixed_direction(const ParameterTensor& tensor) {
  std::vector<double> direction(static_cast<std::size_t>(tensor.count()));
  const double share = 1.0 / std::sqrt(static_cast<double>(tensor.count()));
  for (std::size_t i = 0; i < direction.size(); ++i) {
    const bool up = (kernels::random_word({3, 201, 0, 0}, i) & 1) != 0;
    direction[i] = up ? share : -share;
  }
  return direction;
}

TEST_P(ReferenceGradients, OfWholeTensorsAreSlopesOfTheLoss) {
  for (const ParameterTensor& tensor : model_->table().tensors()) {
    const std::vector<double> direction = mixed_direction(tensor);
    const double* gradient = gradient_of(tensor);
    double expected = 0.0;
    double squares = 0.0;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      expected += gradient[i] * direction[i];
      squares += gradient[i] * gradient[i];
    }
    // One element's share of the slope is its gradient over the root of the count.
    const double size = std::sqrt(squares / static_cast<double>(tensor.count()));
    ASSERT_GT(size, 0.0) << tensor.name;
    EXPECT_NEAR(slope(tensor.offset, direction), expected, kMostError * size) << tensor.name;
  }
}

TEST_P(ReferenceGradients, OfSingleElementsAreSlopesOfTheLoss) {
  for (const ParameterTensor& tensor : model_->table().tensors()) {
    const double* gradient = gradient_of(tensor);
    const auto smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
    const auto largest = std::max_element(gradient, gradient + tensor.count(), smaller);
    EXPECT_NEAR(slope(largest - gradients_.data(), {1.0}), *largest,
                kMostError * std::abs(*largest))
        << tensor.name;
  }
}

TEST_P(ReferenceGradients, OfPositionsThatTheBatchDoesNotReachAreZero) {
  const ParameterTensor& tensor = model_->table().tensor(TensorKind::position_embedding);
  ASSERT_LT(shape_.length, config_.positions);
  for (std::int64_t i = shape_.length * config_.channels; i < tensor.count(); ++i) {
    ASSERT_EQ(gradient_of(tensor)[i], 0.0) << i;
  }
}

TEST_P(ReferenceGradients, AreOverwrittenInEveryStep) {
  run_gradients(*model_, input());
  EXPECT_EQ(gradients_of(*model_), gradients_);
}

INSTANTIATE_TEST_SUITE_P(Dropout, ReferenceGradients, ::testing::Values(0.0, 0.1));

}  // namespace
}  // namespace linkgain::test
