#include "linkgain/model/training_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "linkgain/base/errors.hpp"

namespace linkgain {

void TrainingModel::start_timing() {
  do_start_timing();
  is_timing_ = true;
}

Seconds TrainingModel::stop_timing() {
  if (!is_timing_) throw std::logic_error("no timing was started");
  is_timing_ = false;
  return do_stop_timing();
}

void TrainingModel::begin_step(const StepInput& input) {
  do_begin_step(input);
  next_forward_ = 0;
  next_backward_ = kNone;
}

void TrainingModel::forward(int segment) {
  if (segment == kNone || segment != next_forward_) {
    throw std::logic_error("forward of segments out of order");
  }
  do_forward(segment);
  if (segment < last_segment()) {
    next_forward_ = segment + 1;
  } else {
    next_forward_ = kNone;
    next_backward_ = segment;
  }
}

void TrainingModel::backward(int segment, GradientListener& listener) {
  if (segment == kNone || segment != next_backward_) {
    throw std::logic_error("backward of segments out of order");
  }
  do_backward(segment, listener);
  next_backward_ = segment - 1;  // kNone after the first
}

void TrainingModel::parameters_changed(const ParameterRange& range) {
  parameters().require(range);
  do_parameters_changed(range);
}

void TrainingModel::add_squared_norm(const ParameterRange& range) {
  parameters().require(range);
  do_add_squared_norm(range);
}

void TrainingModel::update(const ParameterRange& range, const OptimizerStep& step) {
  parameters().require(range);
  do_update(range, step);
}

void TrainingModel::read_parameters(const ParameterRange& range, double* values) {
  parameters().require(range);
  do_read_parameters(range, values);
}

void TrainingModel::read_gradients(const ParameterRange& range, double* values) {
  parameters().require(range);
  do_read_gradients(range, values);
}

void TrainingModel::write_parameters(const ParameterRange& range, const double* values) {
  parameters().require(range);
  do_write_parameters(range, values);
}

std::uint64_t TrainingModel::gradient_hash(const ParameterRange& range) {
  parameters().require(range);
  return do_gradient_hash(range);
}

void validate_dropout(double probability) {
  if (probability >= 0.0 && probability < 1.0) return;
  throw UsageError(fmt::format("dropout of {} is no probability", probability),
                   "take one from 0 on, below 1; 0.1 is GPT-2's");
}

OptimizerStep optimizer_step(const OptimizerSettings& settings, std::int64_t step,
                             std::int64_t steps) {
  const auto count = static_cast<double>(step + 1);
  const double left = static_cast<double>(steps - step) / static_cast<double>(steps);
  return {.learning_rate = settings.learning_rate * std::clamp(left, 0.0, 1.0),
          .beta1 = settings.beta1,
          .beta2 = settings.beta2,
          .correction1 = 1.0 - std::pow(settings.beta1, count),
          .correction2 = 1.0 - std::pow(settings.beta2, count),
          .epsilon = settings.epsilon,
          .largest_norm = settings.largest_norm};
}

double clip_factor(double squared_norm, double largest_norm) {
  constexpr double kGuard = 1e-6;  // against division by zero
  return std::min(1.0, largest_norm / (std::sqrt(squared_norm) + kGuard));
}

kernels::WeightDistribution initial_distribution(const Gpt2Config& config, TensorKind kind) {
  constexpr double kDeviation = 0.02;
  switch (kind) {
    case TensorKind::token_embedding:
    case TensorKind::position_embedding:
    case TensorKind::attention_weight:
    case TensorKind::expansion_weight:
      return {0.0, kDeviation};
    case TensorKind::projection_weight:
    case TensorKind::contraction_weight:
      return {0.0, kDeviation / std::sqrt(2.0 * config.layers)};
    case TensorKind::attention_norm_weight:
    case TensorKind::feed_forward_norm_weight:
    case TensorKind::final_norm_weight:
      return {1.0, 0.0};
    case TensorKind::attention_norm_bias:
    case TensorKind::attention_bias:
    case TensorKind::projection_bias:
    case TensorKind::feed_forward_norm_bias:
    case TensorKind::expansion_bias:
    case TensorKind::contraction_bias:
    case TensorKind::final_norm_bias:
      return {0.0, 0.0};
  }
  throw std::invalid_argument("no such kind of tensor");
}

void write_initial_weights(const ParameterTable& table, std::uint64_t seed,
                           std::span<double> parameters) {
  for (std::size_t i = 0; i < table.tensors().size(); ++i) {
    const ParameterTensor& tensor = table.tensors()[i];
    const auto distribution = initial_distribution(table.config(), tensor.kind);
    for (std::int64_t element = 0; element < tensor.count(); ++element) {
      parameters[static_cast<std::size_t>(tensor.offset + element)] =
          kernels::initial_weight(seed, static_cast<int>(i), element, distribution);
    }
  }
}

}  // namespace linkgain
