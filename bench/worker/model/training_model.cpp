#include "linkgain/model/training_model.hpp"

#include <fmt/format.h>

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

}  // namespace linkgain
