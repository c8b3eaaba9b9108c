#pragma once

#include <cstdint>

#include "linkgain/gpt2/training_case.hpp"

namespace linkgain {

/// The dimensions of a GPT-2.
struct Gpt2Config {
  int vocabulary = 0;
  int positions = 0;  ///< most tokens in a sequence
  int channels = 0;
  int layers = 0;
  int heads = 0;

  int head_channels() const { return channels / heads; }
  /// Returns the channels between the two projections of a block's second half.
  int hidden_channels() const { return 4 * channels; }
  bool operator==(const Gpt2Config&) const = default;
};

/// Added to the variance in every LayerNorm.
inline constexpr double kNormEpsilon = 1e-5;

Gpt2Config gpt2_config(ModelSize size);

/// Returns the vocabulary rounded up to a multiple of 64: rows of logits then divide by 128 bytes
/// in every precision. Only computed memory is padded, parameters never are; who pads must mask.
int padded_vocabulary(const Gpt2Config& config);

/// What one rank computes in a step.
struct BatchShape {
  int samples = 0;  ///< sequences
  int length = 0;   ///< tokens of a sequence

  std::int64_t tokens() const { return std::int64_t{samples} * length; }
  bool operator==(const BatchShape&) const = default;
};

/// Throws UsageError where the dimensions do not fit each other, or the batch is empty or its
/// sequences are longer than the model has positions.
void validate(const Gpt2Config& config, const BatchShape& shape);

}  // namespace linkgain
