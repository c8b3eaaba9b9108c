#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "kernels/random/philox.hpp"
#include "linkgain/model/tokens.hpp"
#include "linkgain/model/training_model.hpp"

/// Steps of a training model without any communication.
namespace linkgain::test {

/// Remembers the order in which gradients became final.
class OrderListener : public GradientListener {
 public:
  const std::vector<int>& order() const { return order_; }

 private:
  void do_gradient_is_final(int tensor) override { order_.push_back(tensor); }

  std::vector<int> order_;
};

inline std::vector<std::int32_t> generated_batch(const Gpt2Config& config, const BatchPlace& place,
                                                 const BatchShape& shape) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(shape.samples * (shape.length + 1)));
  read_batch(*generated_tokens(config.vocabulary, 11), place, shape, tokens);
  return tokens;
}

inline double run_forward(TrainingModel& model, const StepInput& input) {
  model.begin_step(input);
  for (int i = 0; i < model.table().segments(); ++i) model.forward(i);
  return model.read_loss();
}

inline void run_backward(TrainingModel& model, GradientListener& listener) {
  for (int i = model.table().segments() - 1; i >= 0; --i) model.backward(i, listener);
}

inline ParameterRange all_of(TrainingModel& model) { return {0, model.table().count()}; }

inline std::vector<double> gradients_of(TrainingModel& model) {
  std::vector<double> values(static_cast<std::size_t>(model.table().count()));
  model.read_gradients(all_of(model), values.data());
  return values;
}

inline std::vector<double> parameters_of(TrainingModel& model) {
  std::vector<double> values(static_cast<std::size_t>(model.table().count()));
  model.read_parameters(all_of(model), values.data());
  return values;
}

/// Runs forward and backward; returns the loss.
inline double run_gradients(TrainingModel& model, const StepInput& input) {
  OrderListener listener;
  const double loss = run_forward(model, input);
  run_backward(model, listener);
  return loss;
}

inline void run_norm(TrainingModel& model) {
  model.clear_squared_norm();
  model.add_squared_norm(all_of(model));
}

/// Runs a whole step; returns the loss before it.
inline double run_step(TrainingModel& model, const StepInput& input, const OptimizerStep& step) {
  const double loss = run_gradients(model, input);
  run_norm(model);
  model.update(all_of(model), step);
  return loss;
}

/// Replaces all parameters by ones that are far from GPT-2's initial ones: attention is then not
/// even, GELU not straight and LayerNorms do something.
inline void roughen(TrainingModel& model, double deviation) {
  std::vector<double> values = parameters_of(model);
  const auto fill = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      values[i] =
          (values[i] == 1.0 ? 1.0 : 0.0) + deviation * kernels::random_normal({99, 200, 0, 0}, i);
    }
  };
  {
    // The 124 million of GPT-2 would keep one core busy for longer than the steps take.
    constexpr std::size_t kPiece = std::size_t{1} << 22;
    std::vector<std::jthread> threads;
    for (std::size_t begin = 0; begin < values.size(); begin += kPiece) {
      threads.emplace_back(fill, begin, std::min(begin + kPiece, values.size()));
    }
  }
  model.write_parameters(all_of(model), values.data());
}

}  // namespace linkgain::test
