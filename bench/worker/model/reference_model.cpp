#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/random/model_random.hpp"
#include "linkgain/gpt2/gpt2_config.hpp"
#include "linkgain/model/tokens.hpp"
#include "linkgain/model/training_model.hpp"
#include "reference_layers.hpp"

namespace linkgain {
namespace reference {
namespace {

/// One segment's tensors in a flat buffer of parameters or gradients.
struct Tensors {
  const ParameterTable* table;
  double* buffer;
  int block;

  double* at(TensorKind kind) const { return buffer + table->tensor(kind, block).offset; }
  Matrix matrix(TensorKind kind) const {
    const ParameterTensor& tensor = table->tensor(kind, block);
    return {buffer + tensor.offset, tensor.rows, tensor.columns};
  }
};

/// All masks of one step.
struct StepDropout {
  std::uint64_t seed;
  std::int64_t step;
  double probability;
  std::int64_t first_sample;

  /// Returns the dropout at `place`, where a sample has `elements`.
  Dropout at(int place, std::int64_t elements) const {
    return {kernels::dropout_mask(seed, step, place, probability), first_sample * elements};
  }
};

/// The weight and bias of one projection and what they multiply.
struct Projection {
  TensorKind weight;
  TensorKind bias;
};

constexpr Projection kAttention{TensorKind::attention_weight, TensorKind::attention_bias};
constexpr Projection kProjection{TensorKind::projection_weight, TensorKind::projection_bias};
constexpr Projection kExpansion{TensorKind::expansion_weight, TensorKind::expansion_bias};
constexpr Projection kContraction{TensorKind::contraction_weight, TensorKind::contraction_bias};

void project(const Tensors& parameters, const Projection& projection, ConstMatrix input,
             Matrix output) {
  multiply(input, parameters.matrix(projection.weight), output);
  add_row(output, parameters.at(projection.bias));
}

/// Computes the gradients of bias and weight, in this order.
void project_backward(const Tensors& gradients, const Projection& projection, ConstMatrix input,
                      ConstMatrix output_gradient, const GradientReport& report) {
  sum_rows(output_gradient, gradients.at(projection.bias));
  report(projection.bias);
  transposed_multiply(input, output_gradient, gradients.matrix(projection.weight));
  report(projection.weight);
}

/// Makes room for `count` numbers.
std::vector<double> room(std::int64_t count) {
  return std::vector<double>(static_cast<std::size_t>(count));
}

std::vector<double> copy_of(ConstMatrix matrix) {
  return {matrix.data, matrix.data + matrix.rows * matrix.columns};
}

void add(ConstMatrix addend, std::vector<double>& sum) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += addend.data[i];
}

/// One block: x + projection(attention(norm(x))), then the same with the feed-forward half. Keeps
/// what its backward needs of its last forward.
class Block {
 public:
  Block(const Gpt2Config& config, const BatchShape& shape, int index)
      : shape_{shape.samples, shape.length, config.heads, config.head_channels()}, index_(index) {
    const std::int64_t stream = tokens() * config.channels;
    attention_norm_.resize(tokens(), config.channels);
    feed_forward_norm_.resize(tokens(), config.channels);
    attention_input_ = room(stream);
    qkv_ = room(3 * stream);
    probabilities_ = room(shape_.probabilities());
    dropped_probabilities_ = room(shape_.probabilities());
    attention_ = room(stream);
    middle_ = room(stream);
    feed_forward_input_ = room(stream);
    expanded_ = room(tokens() * config.hidden_channels());
    activated_ = room(tokens() * config.hidden_channels());
    output_ = room(stream);
  }

  void forward(const Tensors& parameters, const StepDropout& dropout, ConstMatrix input) {
    forward_attention(parameters, dropout, input);
    forward_feed_forward(parameters, dropout);
  }

  /// Returns tokens × channels, until the next forward.
  ConstMatrix output() const { return {output_.data(), tokens(), shape_.channels()}; }

  /// Goes backward: `stream` is the gradient of the output, then that of the input.
  void backward(const Tensors& parameters, const Tensors& gradients, const StepDropout& dropout,
                Matrix stream, const GradientReport& report) {
    backward_feed_forward(parameters, gradients, dropout, stream, report);
    backward_attention(parameters, gradients, dropout, stream, report);
  }

 private:
  void forward_attention(const Tensors& parameters, const StepDropout& dropout, ConstMatrix input) {
    norm_forward(input, parameters.at(TensorKind::attention_norm_weight),
                 parameters.at(TensorKind::attention_norm_bias), attention_norm_,
                 rows(attention_input_));
    project(parameters, kAttention, rows(attention_input_), rows(qkv_));
    attention_forward(shape_, qkv_.data(), probability_dropout(dropout), probabilities_,
                      dropped_probabilities_, attention_.data());
    project(parameters, kProjection, rows(attention_), rows(middle_));
    stream_dropout(dropout, kernels::attention_dropout(index_)).apply(middle_);
    add(input, middle_);
  }

  void forward_feed_forward(const Tensors& parameters, const StepDropout& dropout) {
    norm_forward(rows(middle_), parameters.at(TensorKind::feed_forward_norm_weight),
                 parameters.at(TensorKind::feed_forward_norm_bias), feed_forward_norm_,
                 rows(feed_forward_input_));
    project(parameters, kExpansion, rows(feed_forward_input_), rows(expanded_));
    gelu_forward(expanded_, activated_);
    project(parameters, kContraction, rows(activated_), rows(output_));
    stream_dropout(dropout, kernels::feed_forward_dropout(index_)).apply(output_);
    add(rows(middle_), output_);
  }

  void backward_attention(const Tensors& parameters, const Tensors& gradients,
                          const StepDropout& dropout, Matrix stream, const GradientReport& report) {
    std::vector<double> branch = copy_of(stream);
    stream_dropout(dropout, kernels::attention_dropout(index_)).apply(branch);
    project_backward(gradients, kProjection, rows(attention_), rows(branch), report);
    std::vector<double> attention = room(static_cast<std::int64_t>(attention_.size()));
    multiply_transposed(rows(branch), parameters.matrix(kProjection.weight), rows(attention));
    std::vector<double> qkv = room(static_cast<std::int64_t>(qkv_.size()));
    attention_backward(shape_, qkv_.data(), probability_dropout(dropout), probabilities_,
                       dropped_probabilities_, attention.data(), qkv.data());
    project_backward(gradients, kAttention, rows(attention_input_), rows(qkv), report);
    multiply_transposed(rows(qkv), parameters.matrix(kAttention.weight), rows(branch));
    norm_backward(rows(branch), parameters.at(TensorKind::attention_norm_weight), attention_norm_,
                  {stream.data, gradients.at(TensorKind::attention_norm_weight),
                   gradients.at(TensorKind::attention_norm_bias)});
    report(TensorKind::attention_norm_bias);
    report(TensorKind::attention_norm_weight);
  }

  void backward_feed_forward(const Tensors& parameters, const Tensors& gradients,
                             const StepDropout& dropout, Matrix stream,
                             const GradientReport& report) {
    std::vector<double> branch = copy_of(stream);
    stream_dropout(dropout, kernels::feed_forward_dropout(index_)).apply(branch);
    project_backward(gradients, kContraction, rows(activated_), rows(branch), report);
    std::vector<double> hidden = room(static_cast<std::int64_t>(expanded_.size()));
    multiply_transposed(rows(branch), parameters.matrix(kContraction.weight), rows(hidden));
    gelu_backward(expanded_, hidden);
    project_backward(gradients, kExpansion, rows(feed_forward_input_), rows(hidden), report);
    multiply_transposed(rows(hidden), parameters.matrix(kExpansion.weight), rows(branch));
    norm_backward(rows(branch), parameters.at(TensorKind::feed_forward_norm_weight),
                  feed_forward_norm_,
                  {stream.data, gradients.at(TensorKind::feed_forward_norm_weight),
                   gradients.at(TensorKind::feed_forward_norm_bias)});
    report(TensorKind::feed_forward_norm_bias);
    report(TensorKind::feed_forward_norm_weight);
  }

  Dropout probability_dropout(const StepDropout& dropout) const {
    return dropout.at(kernels::probability_dropout(index_),
                      shape_.heads * shape_.length * shape_.length);
  }

  Dropout stream_dropout(const StepDropout& dropout, int place) const {
    return dropout.at(place, shape_.length * shape_.channels());
  }

  std::int64_t tokens() const { return shape_.samples * shape_.length; }
  Matrix rows(std::vector<double>& values) const {
    return {values.data(), tokens(), static_cast<std::int64_t>(values.size()) / tokens()};
  }

  AttentionShape shape_;
  int index_;
  NormState attention_norm_;
  NormState feed_forward_norm_;
  std::vector<double> attention_input_;  ///< normalised
  std::vector<double> qkv_;
  std::vector<double> probabilities_;
  std::vector<double> dropped_probabilities_;
  std::vector<double> attention_;
  std::vector<double> middle_;              ///< after the attention half
  std::vector<double> feed_forward_input_;  ///< normalised
  std::vector<double> expanded_;
  std::vector<double> activated_;
  std::vector<double> output_;
};

/// Token and position embeddings, summed, with dropout.
class Embedding {
 public:
  Embedding(const Gpt2Config& config, const BatchShape& shape)
      : shape_(shape),
        channels_(config.channels),
        output_(static_cast<std::size_t>(shape.tokens() * config.channels)) {}

  /// Goes forward; `tokens` has shape.tokens() inputs.
  void forward(const Tensors& parameters, const StepDropout& dropout,
               std::span<const std::int32_t> tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      const double* token = parameters.at(TensorKind::token_embedding) + tokens[i] * channels_;
      const double* position =
          parameters.at(TensorKind::position_embedding) + row % shape_.length * channels_;
      double* result = output_.data() + row * channels_;
      for (std::int64_t j = 0; j < channels_; ++j) result[j] = token[j] + position[j];
    }
    dropout_at(dropout).apply(output_);
  }

  ConstMatrix output() const { return {output_.data(), shape_.tokens(), channels_}; }

  /// Overwrites `stream`, the gradient of the output. Adds to the gradient of token_embedding.
  void backward(const Tensors& gradients, const StepDropout& dropout,
                std::span<const std::int32_t> tokens, Matrix stream, const GradientReport& report) {
    dropout_at(dropout).apply(
        {stream.data, static_cast<std::size_t>(stream.rows * stream.columns)});
    const Matrix positions = gradients.matrix(TensorKind::position_embedding);
    // Positions that the batch does not reach have no gradient.
    std::fill_n(positions.data, positions.rows * positions.columns, 0.0);
    for (std::int64_t i = 0; i < stream.rows; ++i) {
      add_row({positions.data + i % shape_.length * channels_, 1, channels_},
              stream.data + i * channels_);
    }
    report(TensorKind::position_embedding);
    double* token_gradients = gradients.at(TensorKind::token_embedding);
    for (std::int64_t i = 0; i < stream.rows; ++i) {
      add_row({token_gradients + tokens[static_cast<std::size_t>(i)] * channels_, 1, channels_},
              stream.data + i * channels_);
    }
    report(TensorKind::token_embedding);
  }

 private:
  Dropout dropout_at(const StepDropout& dropout) const {
    return dropout.at(kernels::kEmbeddingDropout, shape_.length * channels_);
  }

  BatchShape shape_;
  std::int64_t channels_;
  std::vector<double> output_;
};

/// The final norm, the head that is tied to token_embedding, and the mean cross-entropy.
class Head {
 public:
  Head(const Gpt2Config& config, const BatchShape& shape)
      : normalised_(static_cast<std::size_t>(shape.tokens() * config.channels)),
        logits_(static_cast<std::size_t>(shape.tokens() * config.vocabulary)) {
    norm_.resize(shape.tokens(), config.channels);
  }

  /// Returns the loss. Gradients are those of the loss times `scale`.
  double forward(const Tensors& parameters, std::span<const std::int32_t> targets, double scale,
                 ConstMatrix input) {
    const Matrix normalised{normalised_.data(), input.rows, input.columns};
    norm_forward(input, parameters.at(TensorKind::final_norm_weight),
                 parameters.at(TensorKind::final_norm_bias), norm_, normalised);
    const Matrix embedding = parameters.matrix(TensorKind::token_embedding);
    const Matrix logits{logits_.data(), input.rows, embedding.rows};
    multiply_transposed(normalised, embedding, logits);
    const auto count = static_cast<double>(input.rows);
    return cross_entropy(logits, targets, scale / count) / count;
  }

  /// Goes backward: `stream` becomes the gradient of the input. Overwrites the gradient of
  /// token_embedding, which is not final yet.
  void backward(const Tensors& parameters, const Tensors& gradients, Matrix stream,
                const GradientReport& report) {
    const Matrix embedding = parameters.matrix(TensorKind::token_embedding);
    const ConstMatrix logits{logits_.data(), stream.rows, embedding.rows};
    const ConstMatrix normalised{normalised_.data(), stream.rows, stream.columns};
    transposed_multiply(logits, normalised, gradients.matrix(TensorKind::token_embedding));
    std::vector<double> branch(normalised_.size());
    multiply(logits, embedding, {branch.data(), stream.rows, stream.columns});
    std::fill_n(stream.data, stream.rows * stream.columns, 0.0);
    norm_backward({branch.data(), stream.rows, stream.columns},
                  parameters.at(TensorKind::final_norm_weight), norm_,
                  {stream.data, gradients.at(TensorKind::final_norm_weight),
                   gradients.at(TensorKind::final_norm_bias)});
    report(TensorKind::final_norm_bias);
    report(TensorKind::final_norm_weight);
  }

 private:
  NormState norm_;
  std::vector<double> normalised_;
  std::vector<double> logits_;  ///< after forward their gradients
};

}  // namespace
}  // namespace reference

namespace {

using reference::ConstMatrix;
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
    const GradientReport report = [&](TensorKind kind) {
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
