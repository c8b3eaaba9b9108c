#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "gpu_models.hpp"
#include "kernels/timing/warm_up.hpp"
#include "linkgain/gpt2/training_parameters.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/matrix_product.hpp"
#include "support/memory_in_use.hpp"
#include "tiny_steps.hpp"

// Whole steps, GPT-2 124M among them.
namespace linkgain::test {
namespace {

const Gpt2Config kGpt2 = gpt2_config(ModelSize::gpt2);
constexpr BatchShape kGpt2Shape{4, 1024};

using GpuTrainingTest = GpuTest;

TEST_F(GpuTrainingTest, learns_a_batch_by_heart) {
  for (const kernels::TrainingPrecision precision : precisions()) {
    for (const double dropout : {0.0, 0.1}) {
      SCOPED_TRACE(text_of(precision));
      const auto model = make_gpu_model({.config = kTiny,
                                         .shape = kShape,
                                         .precision = precision,
                                         .dropout = dropout,
                                         .seed = 5});
      const auto tokens = generated_batch(kTiny, {}, kShape);
      const double first = run_step(*model, {.tokens = tokens}, fast_step(0));
      EXPECT_NEAR(first, std::log(131.0), 0.1);
      double last = first;
      for (std::int64_t step = 1; step < 20; ++step) {
        const double loss = run_step(*model, {.tokens = tokens, .step = step}, fast_step(step));
        EXPECT_TRUE(dropout > 0.0 || loss < last) << step;
        last = loss;
      }
      EXPECT_LT(last, first - 1.0);
    }
  }
}

// Allows for 4096 targets: the mean of losses that stray by about sqrt(0.31) each is within 0.01.
TEST_F(GpuTrainingTest, begins_at_the_loss_of_random_logits) {
  for (const kernels::TrainingPrecision precision : precisions()) {
    const auto model = make_gpu_model(
        {.config = kGpt2, .shape = kGpt2Shape, .precision = precision, .dropout = 0.0});
    const auto tokens = uniform_tokens(kGpt2, kGpt2Shape);
    EXPECT_NEAR(run_forward(*model, {.tokens = tokens}), 10.98, 0.03) << text_of(precision);
  }
}

TEST_F(GpuTrainingTest, of_gpt2_lowers_the_loss_alike_in_every_precision) {
  constexpr int kSteps = 20;
  std::vector<std::vector<double>> losses;
  for (const kernels::TrainingPrecision precision : precisions()) {
    const auto model =
        make_gpu_model({.config = kGpt2, .shape = kGpt2Shape, .precision = precision});
    losses.emplace_back();
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const auto tokens = generated_batch(kGpt2, {step, 0, 1}, kGpt2Shape);
      losses.back().push_back(run_step(*model,
                                       {.tokens = tokens, .step = step, .first_sample = 4 * step},
                                       optimizer_step({}, step, kSteps)));
    }
    EXPECT_LT(losses.back().back(), losses.back().front() - 0.3) << text_of(precision);
    for (std::size_t step = 0; step < kSteps; ++step) {
      EXPECT_NEAR(losses.back()[step], losses.front()[step], 0.03) << text_of(precision) << step;
    }
  }
}

// Compares losses after two searches, as each rank and variant has a search of its own.
TEST_F(GpuTrainingTest, has_the_same_losses_whatever_algorithms_multiply) {
  constexpr int kSteps = 20;
  const auto losses_of = [](bool measures) {
    const auto model =
        make_gpu_model({.config = kGpt2, .shape = kGpt2Shape, .measures_products = measures});
    std::vector<double> losses;
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const auto tokens = generated_batch(kGpt2, {step, 0, 1}, kGpt2Shape);
      losses.push_back(run_step(*model, {.tokens = tokens, .step = step, .first_sample = 4 * step},
                                optimizer_step({}, step, 200)));
    }
    return losses;
  };
  const std::vector<double> measured = losses_of(true);
  const std::vector<double> first = losses_of(false);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    EXPECT_NEAR(measured[i] / first[i], 1.0, 1e-5) << i;
  }
}

/// Returns by how much the device's memory shrinks while this model makes a step, whoever took it.
std::int64_t memory_taken(const GpuModelOptions& options) {
  const Bytes before = memory_in_use();
  const auto model = make_gpu_model(options);
  const auto tokens = uniform_tokens(options.config, options.shape);
  run_step(*model, {.tokens = tokens}, optimizer_step({}, 0, 1));
  return memory_in_use().value - before.value;
}

// Tries twice: other processes may take memory or give it back meanwhile, but hardly both times.
TEST_F(GpuTrainingTest, takes_the_memory_that_it_says) {
  // What else a process needs is there before.
  { const auto model = make_gpu_model({.config = kTiny, .shape = kShape}); }
  constexpr std::int64_t kMiB = 1 << 20;
  for (const kernels::TrainingPrecision precision : precisions()) {
    const GpuModelOptions options{.config = kGpt2, .shape = kGpt2Shape, .precision = precision};
    const Bytes stated = gpu_model_bytes(options);
    EXPECT_LT(stated.value + 1024 * kMiB, 9 * 1024 * kMiB);
    const auto [least, most] = std::minmax({memory_taken(options), memory_taken(options)});
    // Kernels that are loaded now take some too.
    EXPECT_LT(least, stated.value + 256 * kMiB) << text_of(precision);
    EXPECT_GT(most, stated.value - 64 * kMiB) << text_of(precision);
  }
}

// Covers small batches too, where room for partial sums is most of what a batch takes.
TEST(GpuModelBytes, are_within_what_a_run_is_planned_with) {
  TrainingParameters training;
  for (const ModelSize model : kValues<ModelSize>) {
    for (const BatchShape& shape : {BatchShape{1, 1}, {4, 17}, {4096, 32}}) {
      for (const auto precision :
           {linkgain::TrainingPrecision::fp32, linkgain::TrainingPrecision::tf32,
            linkgain::TrainingPrecision::bf16}) {
        training.model = model;
        training.precision = precision;
        training.samples = shape.samples;
        training.length = shape.length;
        const Bytes bytes = gpu_model_bytes({.config = gpt2_config(model),
                                             .shape = shape,
                                             .precision = precision_on_gpu(precision)});
        EXPECT_GE(training_memory(training), bytes.value - gpu::ProductSearch{}.workspace.value)
            << leading_text(training) << ' ' << shape.samples << " x " << shape.length;
      }
    }
  }
}

/// Leaves the losses unread, as they are on the device only when all is enqueued.
std::uint64_t hash_after_steps(TrainingModel& model, bool waits) {
  OrderListener listener;
  std::vector<std::int32_t> tokens;
  for (std::int64_t step = 0; step < 12; ++step) {
    tokens = generated_batch(kTiny, {step, 0, 1}, kShape);
    model.begin_step({.tokens = tokens, .step = step, .first_sample = 4 * step});
    std::ranges::fill(tokens, -1);
    for (int i = 0; i < model.table().segments(); ++i) model.forward(i);
    run_backward(model, listener);
    run_norm(model);
    model.update(all_of(model), fast_step(step));
    if (waits) model.synchronize();
  }
  return model.parameter_hash();
}

TEST_F(GpuTrainingTest, lets_the_host_run_ahead_and_use_its_tokens_again) {
  const GpuModelOptions options{.config = kTiny, .shape = kShape, .measures_products = false};
  const auto waiting = make_gpu_model(options);
  const auto running = make_gpu_model(options);
  EXPECT_EQ(hash_after_steps(*running, false), hash_after_steps(*waiting, true));
}

TEST_F(GpuTrainingTest, takes_the_time_of_the_device) {
  const auto model = make_gpu_model({.config = kTiny, .shape = kShape});
  EXPECT_NE(model->stream(), nullptr);
  EXPECT_THROW(model->stop_timing(), std::logic_error);
  const auto stream = static_cast<cudaStream_t>(model->stream());
  const auto begin = std::chrono::steady_clock::now();
  gpu::check(kernels::warm_up(stream, 100e3));
  model->start_timing();
  gpu::check(kernels::warm_up(stream, 5e3));
  const Seconds time = model->stop_timing();
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(time.value, 4.9e-3);
  // However long others hold up host or device: what came before was no part of it.
  EXPECT_LE(time.value, all.count() - 98e-3);
  EXPECT_THROW(model->stop_timing(), std::logic_error);
}

/// Remembers names, and that every beginning has an end.
class NamingObserver : public StepObserver {
 public:
  std::vector<StepWork> works;
  bool is_open = false;

 private:
  void do_work_begins(const StepWork& work) override {
    EXPECT_FALSE(is_open);
    is_open = true;
    works.push_back(work);
  }
  void do_work_ends() override {
    EXPECT_TRUE(is_open);
    is_open = false;
  }
};

TEST_F(GpuTrainingTest, tells_an_observer_of_all_its_work) {
  NamingObserver observer;
  const auto model =
      make_gpu_model({.config = kTiny, .shape = kShape, .dropout = 0.0, .observer = &observer});
  const auto tokens = generated_batch(kTiny, {}, kShape);
  run_step(*model, {.tokens = tokens}, fast_step(0));
  EXPECT_FALSE(observer.is_open);
  // Each block has 12 products, the head 3; a third of their operations is forward's.
  double operations = 0.0;
  int products = 0;
  for (const StepWork& work : observer.works) {
    operations += work.operations;
    if (work.operations > 0.0) ++products;
  }
  EXPECT_EQ(products, 2 * 12 + 3);
  const double tokens_count = 4.0 * 16;
  const double head = 3 * 64.0 * 192;  // padded from 131
  EXPECT_DOUBLE_EQ(operations, 2.0 * tokens_count * (3 * 2 * 12.0 * 64 * 64 + head));
}

}  // namespace
}  // namespace linkgain::test
