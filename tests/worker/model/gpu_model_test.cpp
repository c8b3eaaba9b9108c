#include "linkgain/model/gpu_model.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu_models.hpp"
#include "kernels/random/model_random.hpp"
#include "linkgain/base/errors.hpp"
#include "tiny_steps.hpp"

namespace linkgain::test {
namespace {

GpuModelOptions tiny_options(kernels::TrainingPrecision precision, double dropout) {
  return {.config = kTiny, .shape = kShape, .precision = precision, .dropout = dropout, .seed = 5};
}

/// Returns options of models that repeat bit by bit.
GpuModelOptions steady_options(kernels::TrainingPrecision precision, double dropout) {
  GpuModelOptions options = tiny_options(precision, dropout);
  options.measures_products = false;
  return options;
}

using GpuModelTest = GpuTest;

TEST_F(GpuModelTest, tells_of_gradients_in_the_tables_order_and_when_they_are_final) {
  const auto model = make_gpu_model(tiny_options(kernels::TrainingPrecision::fp32, 0.1));
  expect_told_when_final(*model, generated_batch(kTiny, {}, kShape));
}

// Bounds the whole: where a gradient is much smaller than its error AdamW goes a step of full
// length either way.
TEST_F(GpuModelTest, updates_as_the_reference_does) {
  for (const double dropout : {0.0, 0.1}) {
    const ModelPair pair = make_pair(tiny_options(kernels::TrainingPrecision::fp32, dropout), 0.1);
    const std::vector<double> initial = parameters_of(*pair.gpu);
    for (std::int64_t step = 0; step < 5; ++step) {
      const auto tokens = generated_batch(kTiny, {step, 0, 1}, kShape);
      const StepInput input{.tokens = tokens, .step = step, .first_sample = step * 4};
      const double loss = run_step(*pair.gpu, input, fast_step(step));
      EXPECT_NEAR(loss, run_step(*pair.reference, input, fast_step(step)), 1e-4);
    }
    const std::vector<double> values = parameters_of(*pair.gpu);
    const std::vector<double> expected = parameters_of(*pair.reference);
    double difference = 0.0;
    double way = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      difference += std::pow(values[i] - expected[i], 2);
      way += std::pow(expected[i] - initial[i], 2);
    }
    EXPECT_LT(std::sqrt(difference / way), 0.02);
    EXPECT_GT(way, 0.0);
  }
}

TEST_F(GpuModelTest, sums_squares_of_gradients_in_pieces_as_in_one) {
  const auto model = make_gpu_model(tiny_options(kernels::TrainingPrecision::fp32, 0.1));
  const auto tokens = generated_batch(kTiny, {}, kShape);
  run_gradients(*model, {.tokens = tokens});
  double expected = 0.0;
  for (const double gradient : gradients_of(*model)) expected += gradient * gradient;
  const auto sum_of = [&](int pieces) {
    model->clear_squared_norm();
    for (int i = 0; i < pieces; ++i) {
      for (int segment = 0; segment < model->table().segments(); ++segment) {
        model->add_squared_norm(shard_of(model->table().segment_range(segment), i, pieces));
      }
    }
    float sum = 0.0F;
    const gpu::Stream stream;
    model->synchronize();
    gpu::check(cudaMemcpyAsync(&sum, model->squared_norm().data, sizeof(sum),
                               cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
    return static_cast<double>(sum);
  };
  EXPECT_NEAR(sum_of(1) / expected, 1.0, 1e-5);
  EXPECT_NEAR(sum_of(8) / expected, 1.0, 1e-5);
}

TEST_F(GpuModelTest, repeats_bit_by_bit) {
  for (const kernels::TrainingPrecision precision : precisions()) {
    SCOPED_TRACE(text_of(precision));
    const GpuModelOptions options = steady_options(precision, 0.1);
    expect_equal_steps(*make_gpu_model(options), *make_gpu_model(options));
  }
}

TEST_F(GpuModelTest, hashes_the_bits_of_all_parameters) {
  const auto model = make_gpu_model(tiny_options(kernels::TrainingPrecision::fp32, 0.1));
  roughen(*model, 0.1);
  std::uint64_t expected = 0;
  std::int64_t index = 0;
  for (const double value : parameters_of(*model)) {
    expected += kernels::hash_contribution(index++,
                                           std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  }
  EXPECT_EQ(model->parameter_hash(), expected);
}

TEST_F(GpuModelTest, updates_in_pieces_as_in_one) {
  for (const kernels::TrainingPrecision precision : precisions()) {
    SCOPED_TRACE(text_of(precision));
    const GpuModelOptions options = steady_options(precision, 0.1);
    expect_equal_in_pieces(*make_gpu_model(options), *make_gpu_model(options));
  }
}

// Writes the parameters to another model, whose copy in bfloat16 must come to the same loss.
TEST_F(GpuModelTest, keeps_its_copies_of_parameters) {
  for (const kernels::TrainingPrecision precision : precisions()) {
    const GpuModelOptions options = steady_options(precision, 0.0);
    const auto trained = make_gpu_model(options);
    const auto told = make_gpu_model(options);
    const auto tokens = generated_batch(kTiny, {}, kShape);
    const double initial = run_step(*trained, {.tokens = tokens}, fast_step(0));
    const double loss = run_forward(*trained, {.tokens = tokens, .step = 1});
    EXPECT_NE(loss, initial);
    told->write_parameters(all_of(*told), parameters_of(*trained).data());
    EXPECT_EQ(run_forward(*told, {.tokens = tokens, .step = 1}), loss) << text_of(precision);
  }
}

// Writes into the memory and tells the model, as a gather does.
TEST_F(GpuModelTest, learns_of_parameters_that_others_wrote) {
  for (const kernels::TrainingPrecision precision : precisions()) {
    GpuModelOptions options = steady_options(precision, 0.0);
    const auto source = make_gpu_model(options);
    options.seed = 77;
    const auto model = make_gpu_model(options);
    const auto tokens = generated_batch(kTiny, {}, kShape);
    const double expected = run_forward(*source, {.tokens = tokens});
    EXPECT_NE(run_forward(*model, {.tokens = tokens}), expected);
    const FlatMemory to = model->parameters();
    const FlatMemory from = source->parameters();
    const auto bytes = static_cast<std::size_t>(to.bytes_of({0, to.count}).value);
    gpu::check(cudaMemcpyAsync(to.data, from.data, bytes, cudaMemcpyDeviceToDevice,
                               static_cast<cudaStream_t>(model->stream())));
    for (int segment = 0; segment < model->table().segments(); ++segment) {
      model->parameters_changed(model->table().segment_range(segment));
    }
    EXPECT_EQ(run_forward(*model, {.tokens = tokens}), expected) << text_of(precision);
  }
}

TEST_F(GpuModelTest, refuses_segments_out_of_order) {
  const auto model = make_gpu_model(tiny_options(kernels::TrainingPrecision::fp32, 0.1));
  const auto tokens = generated_batch(kTiny, {}, kShape);
  OrderListener listener;
  EXPECT_THROW(model->forward(0), std::logic_error);
  model->begin_step({.tokens = tokens});
  EXPECT_THROW(model->forward(1), std::logic_error);
  EXPECT_THROW(model->backward(3, listener), std::logic_error);
  for (int segment = 0; segment < 4; ++segment) model->forward(segment);
  EXPECT_THROW(model->forward(4), std::logic_error);
  EXPECT_THROW(model->backward(2, listener), std::logic_error);
  model->backward(3, listener);
  EXPECT_THROW(model->backward(3, listener), std::logic_error);
  EXPECT_THROW(model->backward(1, listener), std::logic_error);
  EXPECT_THROW(model->update({0, model->table().count() + 1}, fast_step(0)), std::logic_error);
  EXPECT_THROW(model->add_squared_norm({-1, 2}), std::logic_error);
  EXPECT_THROW(model->parameters_changed({model->table().count(), 1}), std::logic_error);
}

TEST_F(GpuModelTest, refuses_options_and_tokens_that_do_not_fit) {
  const auto options = [](int channels, int heads, double dropout) {
    Gpt2Config config = kTiny;
    config.channels = channels;
    config.heads = heads;
    return GpuModelOptions{.config = config, .shape = kShape, .dropout = dropout};
  };
  EXPECT_THROW(make_gpu_model(options(64, 2, 1.0)), UsageError);
  EXPECT_THROW(make_gpu_model(options(96, 3, 0.1)), UsageError);
  EXPECT_THROW(make_gpu_model(options(64, 4, 0.1)), UsageError);
  EXPECT_THROW(make_gpu_model(options(2048, 32, 0.1)), UsageError);
  const auto model = make_gpu_model(options(64, 2, 0.1));
  std::vector<std::int32_t> tokens = generated_batch(kTiny, {}, kShape);
  tokens[5] = 131;
  EXPECT_THROW(model->begin_step({.tokens = tokens}), UsageError);
  tokens.pop_back();
  EXPECT_THROW(model->begin_step({.tokens = tokens}), std::logic_error);
}

// Loss and every gradient against the reference in double precision.

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

/// Compares queries, keys and values of the attention's weight each by itself, as their gradients
/// differ in size. (Its bias is compared as a whole: that of keys is 0 but for rounding.)
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

// Takes lengths that fill no tile, positions that the batch does not reach, and GPT-2's heads.
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

// Adds up the gradients of parts to those of the whole, with the same masks.
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
