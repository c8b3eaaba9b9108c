#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference_block.hpp"

// The first and the last segment.
namespace linkgain::reference {

/// Token and position embeddings, summed, with dropout.
class Embedding {
 public:
  Embedding(const Gpt2Config& config, const BatchShape& shape);

  /// `tokens` has shape.tokens() inputs.
  void forward(const Tensors& parameters, const StepDropout& dropout,
               std::span<const std::int32_t> tokens);
  ConstMatrix output() const;

  /// Overwrites `stream`, the gradient of the output. Adds to the gradient of token_embedding.
  void backward(const Tensors& gradients, const StepDropout& dropout,
                std::span<const std::int32_t> tokens, Matrix stream, const Report& report);

 private:
  Dropout dropout_at(const StepDropout& dropout) const;

  BatchShape shape_;
  std::int64_t channels_;
  std::vector<double> output_;
};

/// The final norm, the head that is tied to token_embedding, and the mean cross-entropy.
class Head {
 public:
  Head(const Gpt2Config& config, const BatchShape& shape);

  /// Returns the loss. Gradients are those of the loss times `scale`.
  double forward(const Tensors& parameters, std::span<const std::int32_t> targets, double scale,
                 ConstMatrix input);

  /// `stream` becomes the gradient of the input. Overwrites the gradient of token_embedding, which
  /// is not final yet.
  void backward(const Tensors& parameters, const Tensors& gradients, Matrix stream,
                const Report& report);

 private:
  NormState norm_;
  std::vector<double> normalised_;
  std::vector<double> logits_;  ///< after forward their gradients
};

}  // namespace linkgain::reference
