#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "thread_communication.hpp"

namespace linkgain::test {

/// Passes all on to a float64 model in host memory and refuses to compute a segment whose
/// parameters are not there, or are not those that the model was told of: one in less precision has
/// copies of its own.
class WatchedModel : public TrainingModel {
 public:
  WatchedModel(std::unique_ptr<TrainingModel> model, EventLog& log)
      : model_(std::move(model)), log_(log) {
    learn({0, model_->table().count()});
  }

  /// From now on all parameters outside of `owned` are poisoned when a step begins, and those of a
  /// segment after its forward and its backward. The token embedding, once gathered for the last
  /// segment, stays until backward has ended.
  void keep_only(std::span<const ParameterRange> owned) {
    is_owned_.assign(known_.size(), false);
    for (const ParameterRange& range : owned) {
      std::fill_n(is_owned_.begin() + range.offset, range.count, true);
    }
  }

  /// Tells of a segment's gradients when all are final, in turned order.
  void tell_late() { tells_late_ = true; }

 private:
  class LateListener : public GradientListener {
   public:
    std::vector<int> tensors;

   private:
    void do_gradient_is_final(int tensor) override { tensors.push_back(tensor); }
  };

  const ParameterTable& do_table() const override { return model_->table(); }
  BatchShape do_shape() const override { return model_->shape(); }
  FlatMemory do_parameters() override { return model_->parameters(); }
  FlatMemory do_gradients() override { return model_->gradients(); }
  FlatMemory do_squared_norm() override { return model_->squared_norm(); }
  FlatMemory do_loss() override { return model_->loss(); }
  void do_clear_squared_norm() override { model_->clear_squared_norm(); }
  void do_add_squared_norm(const ParameterRange& range) override {
    model_->add_squared_norm(range);
  }
  void do_synchronize() override { model_->synchronize(); }
  double do_read_loss() override { return model_->read_loss(); }
  void* do_stream() override { return model_->stream(); }
  void do_start_timing() override { model_->start_timing(); }
  Seconds do_stop_timing() override { return model_->stop_timing(); }
  std::uint64_t do_parameter_hash() override { return model_->parameter_hash(); }
  std::uint64_t do_gradient_hash(const ParameterRange& range) override {
    return model_->gradient_hash(range);
  }

  void do_begin_step(const StepInput& input) override {
    release({0, table().count()});
    model_->begin_step(input);
  }

  void do_forward(int segment) override {
    require_parameters(segment);
    log_.push_back({"forward", segment, {}});
    model_->forward(segment);
    if (segment + 1 < table().segments()) release(table().segment_range(segment));
  }

  void do_backward(int segment, GradientListener& listener) override {
    require_parameters(segment);
    log_.push_back({"backward", segment, {}});
    if (tells_late_) {
      LateListener late;
      model_->backward(segment, late);
      std::ranges::reverse(late.tensors);
      for (const int tensor : late.tensors) listener.gradient_is_final(tensor);
    } else {
      model_->backward(segment, listener);
    }
    log_.push_back({"backward ended", segment, {}});
    release(table().segment_range(segment));
  }

  void do_parameters_changed(const ParameterRange& range) override {
    learn(range);
    model_->parameters_changed(range);
  }

  void do_update(const ParameterRange& range, const OptimizerStep& step) override {
    model_->update(range, step);
    learn(range);
  }

  void do_read_parameters(const ParameterRange& range, double* values) override {
    model_->read_parameters(range, values);
  }
  void do_read_gradients(const ParameterRange& range, double* values) override {
    model_->read_gradients(range, values);
  }
  void do_write_parameters(const ParameterRange& range, const double* values) override {
    model_->write_parameters(range, values);
    learn(range);
  }

  double* values() { return static_cast<double*>(model_->parameters().data); }

  void learn(const ParameterRange& range) {
    known_.resize(static_cast<std::size_t>(table().count()));
    std::copy_n(values() + range.offset, range.count, known_.begin() + range.offset);
  }

  void release(const ParameterRange& range) {
    if (is_owned_.empty()) return;
    for (std::int64_t i = range.offset; i < range.end(); ++i) {
      if (!is_owned_[static_cast<std::size_t>(i)]) poison(values() + i, 1);
    }
    learn(range);
  }

  void require_parameters(int segment) {
    require(table().segment_range(segment));
    if (table().reads_token_embedding(segment)) {
      require(table().tensor(TensorKind::token_embedding).range());
    }
  }

  void require(const ParameterRange& range) {
    const double* const begin = values() + range.offset;
    if (std::any_of(begin, begin + range.count, is_poison)) {
      throw std::logic_error("a segment computes with parameters that are not there");
    }
    const auto bytes = static_cast<std::size_t>(range.count) * sizeof(double);
    if (std::memcmp(begin, known_.data() + range.offset, bytes) != 0) {
      throw std::logic_error("the model was not told of parameters that changed");
    }
  }

  std::unique_ptr<TrainingModel> model_;
  EventLog& log_;
  std::vector<double> known_;  ///< the parameters as the model was last told of them
  std::vector<bool> is_owned_;
  bool tells_late_ = false;
};

}  // namespace linkgain::test
