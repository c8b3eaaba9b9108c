#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <span>
#include <vector>

#include "model_steps.hpp"

/// Steps of the tiny model, and what they must come to in every implementation.
namespace linkgain::test {

inline const Gpt2Config kTiny = gpt2_config(ModelSize::tiny);
inline constexpr BatchShape kShape{4, 16};

inline OptimizerStep fast_step(std::int64_t step) {
  return optimizer_step({.learning_rate = 3e-3}, step, 100);
}

/// Expects two models with the same options to learn the same bits.
inline void expect_equal_steps(TrainingModel& first, TrainingModel& second) {
  EXPECT_EQ(first.parameter_hash(), second.parameter_hash());
  const std::uint64_t initial = first.parameter_hash();
  for (std::int64_t step = 0; step < 3; ++step) {
    const auto tokens = generated_batch(kTiny, {step, 0, 1}, kShape);
    const StepInput input{.tokens = tokens, .step = step, .first_sample = step * 4};
    EXPECT_EQ(run_step(first, input, fast_step(step)), run_step(second, input, fast_step(step)));
    EXPECT_EQ(first.parameter_hash(), second.parameter_hash()) << step;
  }
  EXPECT_NE(first.parameter_hash(), initial);
}

/// Updates one of two such models in pieces, from the last to the first.
inline void expect_equal_in_pieces(TrainingModel& whole, TrainingModel& pieces) {
  for (std::int64_t step = 0; step < 3; ++step) {
    const auto tokens = generated_batch(kTiny, {step, 0, 1}, kShape);
    run_step(whole, {.tokens = tokens, .step = step}, fast_step(step));
    run_gradients(pieces, {.tokens = tokens, .step = step});
    run_norm(pieces);
    for (int segment = pieces.table().segments() - 1; segment >= 0; --segment) {
      for (int rank = 7; rank >= 0; --rank) {
        const auto range = shard_of(pieces.table().segment_range(segment), rank, 8);
        pieces.update(range, fast_step(step));
      }
    }
    EXPECT_EQ(pieces.parameter_hash(), whole.parameter_hash()) << step;
    EXPECT_EQ(parameters_of(pieces), parameters_of(whole)) << step;
  }
}

/// Reads each gradient as soon as the model says that it is final.
class FinalListener : public GradientListener {
 public:
  explicit FinalListener(TrainingModel& told) : model_(told) {}
  std::vector<int> order;
  std::vector<std::vector<double>> values;

 private:
  void do_gradient_is_final(int tensor) override {
    const ParameterRange range = model_.table().tensors()[static_cast<std::size_t>(tensor)].range();
    order.push_back(tensor);
    values.emplace_back(static_cast<std::size_t>(range.count));
    model_.read_gradients(range, values.back().data());
  }

  TrainingModel& model_;
};

/// Expects backward to tell of gradients in the table's order, and to leave them as they are then.
inline void expect_told_when_final(TrainingModel& model, std::span<const std::int32_t> tokens) {
  FinalListener listener(model);
  run_forward(model, {.tokens = tokens});
  run_backward(model, listener);
  EXPECT_THAT(listener.order, ::testing::ElementsAreArray(model.table().ready_order()));
  const auto gradients = gradients_of(model);
  for (std::size_t i = 0; i < listener.order.size(); ++i) {
    const auto& tensor = model.table().tensors()[static_cast<std::size_t>(listener.order[i])];
    const auto begin = gradients.begin() + tensor.offset;
    EXPECT_EQ(listener.values[i], std::vector<double>(begin, begin + tensor.count()))
        << tensor.name;
  }
}

}  // namespace linkgain::test
