#include "reference_block.hpp"

#include <algorithm>

namespace linkgain::reference {
namespace {

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

/// The gradients of bias and weight, in this order.
void project_backward(const Tensors& gradients, const Projection& projection, ConstMatrix input,
                      ConstMatrix output_gradient, const Report& report) {
  sum_rows(output_gradient, gradients.at(projection.bias));
  report(projection.bias);
  transposed_multiply(input, output_gradient, gradients.matrix(projection.weight));
  report(projection.weight);
}

/// A place for `count` numbers.
std::vector<double> room(std::int64_t count) {
  return std::vector<double>(static_cast<std::size_t>(count));
}

std::vector<double> copy_of(ConstMatrix matrix) {
  return {matrix.data, matrix.data + matrix.rows * matrix.columns};
}

void add(ConstMatrix addend, std::vector<double>& sum) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += addend.data[i];
}

}  // namespace

Block::Block(const Gpt2Config& config, const BatchShape& shape, int index)
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

Matrix Block::rows(std::vector<double>& values) const {
  return {values.data(), tokens(), static_cast<std::int64_t>(values.size()) / tokens()};
}

ConstMatrix Block::output() const { return {output_.data(), tokens(), shape_.channels()}; }

Dropout Block::probability_dropout(const StepDropout& dropout) const {
  return dropout.at(kernels::probability_dropout(index_),
                    shape_.heads * shape_.length * shape_.length);
}

Dropout Block::stream_dropout(const StepDropout& dropout, int place) const {
  return dropout.at(place, shape_.length * shape_.channels());
}

void Block::forward(const Tensors& parameters, const StepDropout& dropout, ConstMatrix input) {
  forward_attention(parameters, dropout, input);
  forward_feed_forward(parameters, dropout);
}

void Block::forward_attention(const Tensors& parameters, const StepDropout& dropout,
                              ConstMatrix input) {
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

void Block::forward_feed_forward(const Tensors& parameters, const StepDropout& dropout) {
  norm_forward(rows(middle_), parameters.at(TensorKind::feed_forward_norm_weight),
               parameters.at(TensorKind::feed_forward_norm_bias), feed_forward_norm_,
               rows(feed_forward_input_));
  project(parameters, kExpansion, rows(feed_forward_input_), rows(expanded_));
  gelu_forward(expanded_, activated_);
  project(parameters, kContraction, rows(activated_), rows(output_));
  stream_dropout(dropout, kernels::feed_forward_dropout(index_)).apply(output_);
  add(rows(middle_), output_);
}

void Block::backward(const Tensors& parameters, const Tensors& gradients,
                     const StepDropout& dropout, Matrix stream, const Report& report) {
  backward_feed_forward(parameters, gradients, dropout, stream, report);
  backward_attention(parameters, gradients, dropout, stream, report);
}

void Block::backward_feed_forward(const Tensors& parameters, const Tensors& gradients,
                                  const StepDropout& dropout, Matrix stream, const Report& report) {
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

void Block::backward_attention(const Tensors& parameters, const Tensors& gradients,
                               const StepDropout& dropout, Matrix stream, const Report& report) {
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

}  // namespace linkgain::reference
