#include "linkgain/model/reference_model.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <vector>

#include "initial_weights.hpp"
#include "kernels/random/model_random.hpp"
#include "reference_ends.hpp"
#include "step_tokens.hpp"

namespace linkgain {
namespace {

using reference::ConstMatrix;
using reference::Report;
using reference::Tensors;

/// The rows of length + 1 tokens, apart.
struct Sequences {
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> targets;
};

ReferenceOptions validated(const ReferenceOptions& options) {
  validate(options.config, options.shape);
  validate_dropout(options.dropout);
  return options;
}

class ReferenceModel : public TrainingModel {
 public:
  explicit ReferenceModel(const ReferenceOptions& options)
      : options_(validated(options)),
        table_(options.config),
        embedding_(options.config, options.shape),
        head_(options.config, options.shape),
        parameters_(static_cast<std::size_t>(table_.count())),
        gradients_(parameters_.size()),
        first_moments_(parameters_.size()),
        second_moments_(parameters_.size()),
        stream_(static_cast<std::size_t>(options.shape.tokens() * options.config.channels)) {
    sequences_.inputs.resize(static_cast<std::size_t>(options.shape.tokens()));
    sequences_.targets.resize(sequences_.inputs.size());
    for (int i = 0; i < options.config.layers; ++i) {
      blocks_.emplace_back(options.config, options.shape, i);
    }
    write_initial_weights(table_, options.seed, parameters_);
  }

 private:
  const ParameterTable& do_table() const override { return table_; }
  BatchShape do_shape() const override { return options_.shape; }
  FlatMemory do_parameters() override { return memory(parameters_); }
  FlatMemory do_gradients() override { return memory(gradients_); }
  FlatMemory do_squared_norm() override { return {&squared_norm_, DataType::float64, 1}; }
  FlatMemory do_loss() override { return {&loss_, DataType::float64, 1}; }
  void do_parameters_changed(const ParameterRange&) override {}
  void do_clear_squared_norm() override { squared_norm_ = 0.0; }
  void do_synchronize() override {}
  double do_read_loss() override { return loss_; }
  void* do_stream() override { return nullptr; }
  void do_start_timing() override { timing_start_ = std::chrono::steady_clock::now(); }

  Seconds do_stop_timing() override {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - timing_start_;
    return {spent.count()};
  }

  void do_begin_step(const StepInput& input) override {
    take_apart(input.tokens, options_.shape, options_.config.vocabulary, sequences_.inputs.data(),
               sequences_.targets.data());
    dropout_ = {options_.seed, input.step, options_.dropout, input.first_sample};
    gradient_scale_ = input.gradient_scale;
  }

  void do_forward(int segment) override {
    const Tensors parameters = tensors(parameters_, segment);
    if (segment == 0) {
      embedding_.forward(parameters, dropout_, sequences_.inputs);
    } else if (segment < last_segment()) {
      block(segment).forward(parameters, dropout_, output_of(segment - 1));
    } else {
      loss_ =
          head_.forward(parameters, sequences_.targets, gradient_scale_, output_of(segment - 1));
    }
  }

  void do_backward(int segment, GradientListener& listener) override {
    const Report report = [&](TensorKind kind) {
      listener.gradient_is_final(table_.index_of(kind, segment - 1));
    };
    const Tensors parameters = tensors(parameters_, segment);
    const Tensors gradients = tensors(gradients_, segment);
    const reference::Matrix stream{stream_.data(), options_.shape.tokens(),
                                   options_.config.channels};
    if (segment == last_segment()) {
      head_.backward(parameters, gradients, stream, report);
    } else if (segment > 0) {
      block(segment).backward(parameters, gradients, dropout_, stream, report);
    } else {
      embedding_.backward(gradients, dropout_, sequences_.inputs, stream, report);
    }
  }

  void do_add_squared_norm(const ParameterRange& range) override {
    for (const double gradient : part(gradients_, range)) squared_norm_ += gradient * gradient;
  }

  void do_update(const ParameterRange& range, const OptimizerStep& step) override {
    const double factor = clip_factor(squared_norm_, step.largest_norm);
    const std::span<double> parameters = part(parameters_, range);
    const std::span<double> gradients = part(gradients_, range);
    const std::span<double> first = part(first_moments_, range);
    const std::span<double> second = part(second_moments_, range);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double gradient = factor * gradients[i];
      first[i] = step.beta1 * first[i] + (1.0 - step.beta1) * gradient;
      second[i] = step.beta2 * second[i] + (1.0 - step.beta2) * gradient * gradient;
      const double deviation = std::sqrt(second[i] / step.correction2) + step.epsilon;
      parameters[i] -= step.learning_rate * (first[i] / step.correction1) / deviation;
    }
  }

  void do_read_parameters(const ParameterRange& range, double* values) override {
    std::ranges::copy(part(parameters_, range), values);
  }

  void do_read_gradients(const ParameterRange& range, double* values) override {
    std::ranges::copy(part(gradients_, range), values);
  }

  void do_write_parameters(const ParameterRange& range, const double* values) override {
    std::copy_n(values, range.count, part(parameters_, range).begin());
  }

  std::uint64_t do_parameter_hash() override { return hash_of(parameters_, {0, table_.count()}); }

  std::uint64_t do_gradient_hash(const ParameterRange& range) override {
    return hash_of(gradients_, range);
  }

  static std::uint64_t hash_of(std::vector<double>& values, const ParameterRange& range) {
    std::uint64_t hash = 0;
    std::int64_t place = range.offset;
    for (const double value : part(values, range)) {
      hash += kernels::hash_contribution(place++, std::bit_cast<std::uint64_t>(value + 0.0));
    }
    return hash;
  }

  static FlatMemory memory(std::vector<double>& values) {
    return {values.data(), DataType::float64, static_cast<std::int64_t>(values.size())};
  }

  static std::span<double> part(std::vector<double>& values, const ParameterRange& range) {
    return {values.data() + range.offset, static_cast<std::size_t>(range.count)};
  }

  reference::Block& block(int segment) { return blocks_[static_cast<std::size_t>(segment) - 1]; }

  ConstMatrix output_of(int segment) {
    return segment == 0 ? embedding_.output() : block(segment).output();
  }

  Tensors tensors(std::vector<double>& buffer, int segment) const {
    return {&table_, buffer.data(), segment - 1};
  }

  ReferenceOptions options_;
  ParameterTable table_;
  reference::Embedding embedding_;
  std::vector<reference::Block> blocks_;
  reference::Head head_;
  std::vector<double> parameters_;
  std::vector<double> gradients_;
  std::vector<double> first_moments_;
  std::vector<double> second_moments_;
  std::vector<double> stream_;  ///< gradient of the residual stream, tokens × channels
  double squared_norm_ = 0.0;
  double loss_ = 0.0;
  Sequences sequences_;
  reference::StepDropout dropout_{};
  double gradient_scale_ = 1.0;
  std::chrono::steady_clock::time_point timing_start_;
};

}  // namespace

std::unique_ptr<TrainingModel> make_reference_model(const ReferenceOptions& options) {
  return std::make_unique<ReferenceModel>(options);
}

}  // namespace linkgain
