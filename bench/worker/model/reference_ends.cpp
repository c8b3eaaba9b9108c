#include "reference_ends.hpp"

#include <algorithm>

namespace linkgain::reference {

Embedding::Embedding(const Gpt2Config& config, const BatchShape& shape)
    : shape_(shape),
      channels_(config.channels),
      output_(static_cast<std::size_t>(shape.tokens() * config.channels)) {}

ConstMatrix Embedding::output() const { return {output_.data(), shape_.tokens(), channels_}; }

Dropout Embedding::dropout_at(const StepDropout& dropout) const {
  return dropout.at(kernels::kEmbeddingDropout, shape_.length * channels_);
}

void Embedding::forward(const Tensors& parameters, const StepDropout& dropout,
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

void Embedding::backward(const Tensors& gradients, const StepDropout& dropout,
                         std::span<const std::int32_t> tokens, Matrix stream,
                         const Report& report) {
  dropout_at(dropout).apply({stream.data, static_cast<std::size_t>(stream.rows * stream.columns)});
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

Head::Head(const Gpt2Config& config, const BatchShape& shape)
    : normalised_(static_cast<std::size_t>(shape.tokens() * config.channels)),
      logits_(static_cast<std::size_t>(shape.tokens() * config.vocabulary)) {
  norm_.resize(shape.tokens(), config.channels);
}

double Head::forward(const Tensors& parameters, std::span<const std::int32_t> targets, double scale,
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

void Head::backward(const Tensors& parameters, const Tensors& gradients, Matrix stream,
                    const Report& report) {
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

}  // namespace linkgain::reference
