#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu_models.hpp"

// Loss and every gradient against the reference in double precision.
namespace linkgain::test {
namespace {

/// Root of the sum of squares of what differs, over that of what is expected.
struct Difference {
  double square = 0.0;
  double expected = 0.0;

  void add(double value, double reference) {
    square += (value - reference) * (value - reference);
    expected += reference * reference;
  }
  double relative() const { return std::sqrt(square / expected); }
};

/// What rounding may make of it: of the loss, absolute; of a tensor's gradient, relative in the
/// 2-norm. A unit of fp32 is 6e-8, of tf32's and bf16's factors 5e-4 and 4e-3; the gradients of
/// queries and keys are differences of much larger numbers.
struct Bounds {
  double loss;
  double gradient;
  double queries_and_keys;
};

Bounds bounds_of(kernels::TrainingPrecision precision) {
  switch (precision) {
    case kernels::TrainingPrecision::fp32:
      return {5e-6, 1e-5, 2e-5};
    case kernels::TrainingPrecision::tf32:
      return {3e-3, 1e-2, 2e-2};
    case kernels::TrainingPrecision::bf16:
      return {1e-2, 3e-2, 5e-2};
  }
  return {};
}

/// Queries, keys and values of the attention's weight each by itself, as their gradients differ in
/// size. (Of its bias as a whole: that of keys is 0 but for rounding.)
void expect_tensor(const ParameterTensor& tensor, std::span<const double> gradients,
                   std::span<const double> expected, const Bounds& bounds) {
  const bool is_attention = tensor.kind == TensorKind::attention_weight;
  const std::int64_t parts = is_attention ? 3 : 1;
  std::vector<Difference> differences(static_cast<std::size_t>(parts));
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const std::int64_t part = i % tensor.columns * parts / tensor.columns;
    const auto element = static_cast<std::size_t>(tensor.offset + i);
    differences[static_cast<std::size_t>(part)].add(gradients[element], expected[element]);
  }
  for (std::int64_t part = 0; part < parts; ++part) {
    const double bound = is_attention && part < 2 ? bounds.queries_and_keys : bounds.gradient;
    const double relative = differences[static_cast<std::size_t>(part)].relative();
    // Not-a-number is not below any bound.
    EXPECT_LT(relative, bound) << tensor.name << ", part " << part;
  }
}

void expect_same_step(const GpuModelOptions& options, double deviation) {
  SCOPED_TRACE(text_of(options.precision) + ", dropout " + std::to_string(options.dropout));
  const ModelPair pair = make_pair(options, deviation);
  const auto tokens = uniform_tokens(options.config, options.shape);
  const StepInput input{.tokens = tokens, .step = 3, .first_sample = 5, .gradient_scale = 0.5};
  const double loss = run_gradients(*pair.gpu, input);
  const double expected_loss = run_gradients(*pair.reference, input);
  const Bounds bounds = bounds_of(options.precision);
  EXPECT_NEAR(loss, expected_loss, bounds.loss);
  const std::vector<double> gradients = gradients_of(*pair.gpu);
  const std::vector<double> expected = gradients_of(*pair.reference);
  for (const ParameterTensor& tensor : pair.gpu->table().tensors()) {
    expect_tensor(tensor, gradients, expected, bounds);
  }
}

using GpuGradientsTest = GpuTest;

TEST_F(GpuGradientsTest, are_those_of_the_reference) {
  for (const kernels::TrainingPrecision precision : precisions()) {
    for (const double dropout : {0.0, 0.1}) {
      expect_same_step({.config = gpt2_config(ModelSize::tiny),
                        .shape = {4, 32},
                        .precision = precision,
                        .dropout = dropout,
                        .seed = 5},
                       0.1);
    }
  }
}

// Lengths that fill no tile, positions that the batch does not reach, and the heads of GPT-2.
TEST_F(GpuGradientsTest, are_those_of_the_reference_with_shapes_that_do_not_fit_tiles) {
  const Gpt2Config config{
      .vocabulary = 257, .positions = 160, .channels = 128, .layers = 2, .heads = 2};
  for (const kernels::TrainingPrecision precision : precisions()) {
    for (const BatchShape shape : {BatchShape{2, 150}, BatchShape{3, 17}}) {
      SCOPED_TRACE(std::to_string(shape.samples) + " x " + std::to_string(shape.length));
      expect_same_step(
          {.config = config, .shape = shape, .precision = precision, .dropout = 0.1, .seed = 6},
          0.08);
    }
  }
}

TEST_F(GpuGradientsTest, begin_with_the_weights_of_the_reference) {
  const GpuModelOptions options{.config = gpt2_config(ModelSize::tiny), .shape = {2, 8}, .seed = 9};
  const auto model = make_gpu_model(options);
  const auto reference = make_reference_model({options.config, options.shape, 0.1, 9});
  EXPECT_EQ(parameters_of(*model), parameters_of(*reference));
}

// The gradients of parts add up to those of the whole, with the same masks.
TEST_F(GpuGradientsTest, of_ranks_together_are_those_of_one) {
  const Gpt2Config config = gpt2_config(ModelSize::tiny);
  const auto whole = make_gpu_model({.config = config, .shape = {4, 16}, .seed = 5});
  const auto part = make_gpu_model({.config = config, .shape = {2, 16}, .seed = 5});
  const auto all_tokens = generated_batch(config, {3, 0, 1}, {4, 16});
  const double loss =
      run_gradients(*whole, {.tokens = all_tokens, .step = 3, .first_sample = 3 * 4});
  const std::vector<double> expected = gradients_of(*whole);
  std::vector<double> sum(expected.size());
  double losses = 0.0;
  for (int rank = 0; rank < 2; ++rank) {
    const BatchPlace place{3, rank, 2};
    const auto tokens = generated_batch(config, place, {2, 16});
    losses += run_gradients(*part, {.tokens = tokens,
                                    .step = 3,
                                    .first_sample = place.first_sequence(2),
                                    .gradient_scale = 0.5});
    const std::vector<double> gradients = gradients_of(*part);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradients[i];
  }
  EXPECT_NEAR(losses / 2, loss, 2e-6);
  Difference difference;
  for (std::size_t i = 0; i < sum.size(); ++i) difference.add(sum[i], expected[i]);
  EXPECT_LT(difference.relative(), 2e-6);
}

}  // namespace
}  // namespace linkgain::test
