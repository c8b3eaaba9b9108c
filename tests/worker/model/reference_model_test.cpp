#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/model/training_model.hpp"
#include "tiny_steps.hpp"

namespace linkgain::test {
namespace {

std::unique_ptr<TrainingModel> tiny_model(double dropout, BatchShape shape = kShape) {
  return make_reference_model({kTiny, shape, dropout, 5});
}

// Expects the loss E ln sum exp = ln V + s / 2: with initial weights the last norm's output has the
// length sqrt(C), the tied head's rows are N(0, 0.02), so logits are N(0, s) with s = 0.0004 C,
// nearly independent of the target. GPT-2's 768 channels give 0.3072 / 2, 384 give 0.1536 / 2. (The
// logit of the input token itself stands out, but by less than e^1.5, one of 1024.) The mean over
// 512 targets strays by sqrt(s / 512) = 0.017.
TEST(ReferenceModel, BeginsAtTheLossOfRandomLogits) {
  const Gpt2Config config{
      .vocabulary = 1024, .positions = 32, .channels = 384, .layers = 1, .heads = 4};
  const BatchShape shape{16, 32};
  const auto model = make_reference_model({config, shape, 0.0, 1});
  std::vector<std::int32_t> tokens(16 * 33);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<std::int32_t>(kernels::random_word({1, 202, 0, 0}, i) % 1024);
  }
  const double loss = run_forward(*model, {.tokens = tokens});
  EXPECT_NEAR(loss, std::log(1024.0) + 0.1536 / 2, 0.035);
}

TEST(ReferenceModel, TellsOfGradientsInTheTablesOrderAndWhenTheyAreFinal) {
  expect_told_when_final(*tiny_model(0.1), generated_batch(kTiny, {}, kShape));
}

TEST(ReferenceModel, RanksTogetherHaveTheGradientsOfOne) {
  constexpr int kRanks = 4;
  for (const double dropout : {0.0, 0.1}) {
    const auto whole = tiny_model(dropout, {8, 16});
    const auto all_tokens = generated_batch(kTiny, {3, 0, 1}, {8, 16});
    const double loss = run_gradients(
        *whole,
        {.tokens = all_tokens, .step = 3, .first_sample = BatchPlace{3, 0, 1}.first_sequence(8)});
    const auto part = tiny_model(dropout, {2, 16});
    std::vector<double> sum(gradients_of(*part).size(), 0.0);
    double losses = 0.0;
    for (int rank = 0; rank < kRanks; ++rank) {
      const BatchPlace place{3, rank, kRanks};
      const auto tokens = generated_batch(kTiny, place, {2, 16});
      losses += run_gradients(*part, {.tokens = tokens,
                                      .step = 3,
                                      .first_sample = place.first_sequence(2),
                                      .gradient_scale = 1.0 / kRanks});
      const auto gradients = gradients_of(*part);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradients[i];
    }
    EXPECT_NEAR(losses / kRanks, loss, 1e-13);
    const auto expected = gradients_of(*whole);
    for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(sum[i], expected[i], 1e-14) << i;
  }
}

TEST(ReferenceModel, TakesTheTimeOfASteadyClock) {
  const auto model = tiny_model(0.0);
  EXPECT_EQ(model->stream(), nullptr);
  EXPECT_THROW(model->stop_timing(), std::logic_error);
  const auto before = std::chrono::steady_clock::now();
  model->start_timing();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const Seconds time = model->stop_timing();
  const std::chrono::duration<double> most = std::chrono::steady_clock::now() - before;
  EXPECT_GE(time.value, 5e-3);
  EXPECT_LE(time.value, most.count());
  EXPECT_THROW(model->stop_timing(), std::logic_error);
}

TEST(ReferenceModel, LearnsABatchByHeart) {
  const auto model = tiny_model(0.0);
  const auto tokens = generated_batch(kTiny, {}, kShape);
  const double first = run_step(*model, {.tokens = tokens}, fast_step(0));
  EXPECT_NEAR(first, std::log(131.0), 0.1);
  double last = first;
  for (std::int64_t step = 1; step < 20; ++step) {
    const double loss = run_step(*model, {.tokens = tokens, .step = step}, fast_step(step));
    EXPECT_LT(loss, last) << step;
    last = loss;
  }
  EXPECT_LT(last, first - 1.5);
}

TEST(ReferenceModel, LearnsWithDropoutToo) {
  const auto model = tiny_model(0.1);
  const auto tokens = generated_batch(kTiny, {}, kShape);
  const double first = run_step(*model, {.tokens = tokens}, fast_step(0));
  double last = first;
  for (std::int64_t step = 1; step < 20; ++step) {
    last = run_step(*model, {.tokens = tokens, .step = step}, fast_step(step));
  }
  EXPECT_LT(last, first - 1.0);
}

TEST(ReferenceModel, IsDeterministic) { expect_equal_steps(*tiny_model(0.1), *tiny_model(0.1)); }

TEST(ReferenceModel, UpdatesInPiecesAsInOne) {
  expect_equal_in_pieces(*tiny_model(0.1), *tiny_model(0.1));
}

/// AdamW and clipping as their sources write them, for one number.
struct Adam {
  double value;
  double first = 0.0;
  double second = 0.0;

  void update(double gradient, double norm, double rate, int count) {
    if (norm + 1e-6 > 1.0) gradient /= norm + 1e-6;
    first = 0.9 * first + 0.1 * gradient;
    second = 0.999 * second + 0.001 * gradient * gradient;
    const double mean = first / (1.0 - std::pow(0.9, count));
    const double variance = second / (1.0 - std::pow(0.999, count));
    value -= rate * mean / (std::sqrt(variance) + 1e-8);
  }
};

TEST(ReferenceModel, UpdatesAsAdamWDoesWithClippedGradients) {
  const auto model = tiny_model(0.0);
  std::vector<Adam> expected;
  for (const double value : parameters_of(*model)) expected.push_back({value});
  const auto tokens = generated_batch(kTiny, {}, kShape);
  for (int step = 0; step < 4; ++step) {
    // Norms far above 1 and far below it.
    const double scale = step % 2 == 0 ? 100.0 : 0.01;
    run_step(*model, {.tokens = tokens, .gradient_scale = scale},
             optimizer_step({.learning_rate = 1e-3}, step, 10));
    const auto gradients = gradients_of(*model);
    double squares = 0.0;
    for (const double gradient : gradients) squares += gradient * gradient;
    EXPECT_EQ(std::sqrt(squares) > 1.0, step % 2 == 0);
    EXPECT_DOUBLE_EQ(*static_cast<double*>(model->squared_norm().data), squares);
    const auto values = parameters_of(*model);
    for (std::size_t i = 0; i < values.size(); ++i) {
      expected[i].update(gradients[i], std::sqrt(squares), 1e-3 * (10 - step) / 10, step + 1);
      ASSERT_NEAR(values[i], expected[i].value, 1e-14) << step << ' ' << i;
    }
  }
}

TEST(ReferenceModel, ScalesGradients) {
  const auto model = tiny_model(0.0);
  const auto tokens = generated_batch(kTiny, {}, kShape);
  const double loss = run_gradients(*model, {.tokens = tokens});
  const auto gradients = gradients_of(*model);
  EXPECT_EQ(run_gradients(*model, {.tokens = tokens, .gradient_scale = 0.25}), loss);
  const auto quarter = gradients_of(*model);
  for (std::size_t i = 0; i < quarter.size(); ++i) ASSERT_EQ(quarter[i] * 4, gradients[i]) << i;
}

TEST(ReferenceModel, DropsOthersInOtherStepsAndSamples) {
  const auto model = tiny_model(0.5);
  const auto tokens = generated_batch(kTiny, {}, kShape);
  const double loss = run_forward(*model, {.tokens = tokens});
  EXPECT_EQ(run_forward(*model, {.tokens = tokens}), loss);
  EXPECT_NE(run_forward(*model, {.tokens = tokens, .step = 1}), loss);
  EXPECT_NE(run_forward(*model, {.tokens = tokens, .first_sample = 4}), loss);
  const auto plain = tiny_model(0.0);
  EXPECT_EQ(run_forward(*plain, {.tokens = tokens}),
            run_forward(*plain, {.tokens = tokens, .step = 1, .first_sample = 4}));
}

TEST(ReferenceModel, GivesItsMemory) {
  const auto model = tiny_model(0.0);
  const FlatMemory parameters = model->parameters();
  EXPECT_EQ(parameters.count, model->table().count());
  EXPECT_EQ(parameters.type, DataType::float64);
  const double value = 0.5;
  model->write_parameters({17, 1}, &value);
  EXPECT_EQ(*static_cast<double*>(parameters.at(17)), 0.5);
  EXPECT_EQ(parameters.bytes_of({17, 3}).value, 24);
  const auto tokens = generated_batch(kTiny, {}, kShape);
  const double loss = run_gradients(*model, {.tokens = tokens});
  EXPECT_EQ(*static_cast<double*>(model->loss().data), loss);
  EXPECT_EQ(static_cast<double*>(model->gradients().data)[5], gradients_of(*model)[5]);
}

TEST(ReferenceModel, RefusesWhatIsOutOfOrder) {
  const auto model = tiny_model(0.0);
  const auto tokens = generated_batch(kTiny, {}, kShape);
  OrderListener listener;
  EXPECT_THROW(model->forward(0), std::logic_error);
  model->begin_step({.tokens = tokens});
  EXPECT_THROW(model->forward(1), std::logic_error);
  model->forward(0);
  EXPECT_THROW(model->forward(0), std::logic_error);
  EXPECT_THROW(model->backward(0, listener), std::logic_error);
  for (int segment = 1; segment < 4; ++segment) model->forward(segment);
  EXPECT_THROW(model->forward(4), std::logic_error);
  EXPECT_THROW(model->backward(2, listener), std::logic_error);
  model->backward(3, listener);
  EXPECT_THROW(model->backward(3, listener), std::logic_error);
  EXPECT_THROW(model->update({0, model->table().count() + 1}, fast_step(0)), std::logic_error);
  EXPECT_THROW(model->begin_step({.tokens = std::span(tokens).first(5)}), std::logic_error);
}

TEST(ReferenceModel, RefusesWhatItCannotCompute) {
  EXPECT_THROW(tiny_model(1.0), UsageError);
  EXPECT_THROW(tiny_model(-0.1), UsageError);
  EXPECT_THROW(tiny_model(std::nan("")), UsageError);
  EXPECT_THROW(tiny_model(0.1, {4, 33}), UsageError);
  const auto model = tiny_model(0.0);
  for (const std::int32_t token : {131, -1}) {
    const std::vector<std::int32_t> tokens(4 * 17, token);
    EXPECT_THROW(model->begin_step({.tokens = tokens}), UsageError);
  }
}

}  // namespace
}  // namespace linkgain::test
