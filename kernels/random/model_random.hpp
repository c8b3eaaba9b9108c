#pragma once

#include <cstdint>

#include "kernels/random/philox.hpp"

// What of GPT-2's training is random: initial weights, dropout, generated tokens; and a hash of
// what became of them. Host and device compute the same.

namespace linkgain::kernels {

// The purposes of random sequences; none shares words with another.
inline constexpr std::uint32_t kWeightPurpose = 1;
inline constexpr std::uint32_t kDropoutPurpose = 2;
inline constexpr std::uint32_t kTokenPurpose = 3;

/// What a tensor's elements are drawn from; with a deviation of 0 all are the mean.
struct WeightDistribution {
  double mean;
  double deviation;
};

/// Returns an initial weight; `tensor` counts in the model's order of definition, `element` within
/// the tensor.
LINKGAIN_BOTH inline float initial_weight(std::uint64_t seed, int tensor, std::int64_t element,
                                          const WeightDistribution& distribution) {
  if (distribution.deviation == 0.0) return static_cast<float>(distribution.mean);
  const RandomSequence sequence{seed, kWeightPurpose, static_cast<std::uint32_t>(tensor), 0};
  const double normal = random_normal(sequence, static_cast<std::uint64_t>(element));
  return static_cast<float>(std::fma(normal, distribution.deviation, distribution.mean));
}

/// One place where elements are dropped, in one step. An element's number counts over the batches
/// of all ranks, so that a mask does not depend on how samples are distributed over ranks.
struct DropoutMask {
  RandomSequence sequence;
  std::uint32_t threshold;  ///< an element is dropped where its word is below
  float scale;              ///< what kept ones are multiplied with, so that the mean stays
};

/// Returns the mask of dropout; `probability` of dropping is in 0 … 1, 1 excluded; it is rounded to
/// 1 / 2^32.
LINKGAIN_BOTH constexpr DropoutMask dropout_mask(std::uint64_t seed, std::int64_t step, int place,
                                                 double probability) {
  return {
      {seed, kDropoutPurpose, static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(step)},
      static_cast<std::uint32_t>(probability * 4294967296.0),
      static_cast<float>(1.0 / (1.0 - probability))};
}

LINKGAIN_BOTH constexpr bool is_kept(const DropoutMask& mask, std::int64_t element) {
  return random_word(mask.sequence, static_cast<std::uint64_t>(element)) >= mask.threshold;
}

// The 37 places of GPT-2 124M, numbered along the forward pass: after the embedding, and in each
// block on the attention probabilities and after both projections into the residual stream.
inline constexpr int kEmbeddingDropout = 0;
LINKGAIN_BOTH constexpr int probability_dropout(int block) { return 1 + 3 * block; }
LINKGAIN_BOTH constexpr int attention_dropout(int block) { return 2 + 3 * block; }
LINKGAIN_BOTH constexpr int feed_forward_dropout(int block) { return 3 + 3 * block; }

/// Dropout of a row-major matrix: element i of it is element first + i of the mask. A batch's
/// matrices have `first` = number of the first sample * elements of a sample.
struct MatrixDropout {
  DropoutMask mask;    ///< with a probability of 0 kernels draw no words
  std::int64_t first;  ///< a multiple of kWordsPerBlock
};

/// Drops nothing.
constexpr MatrixDropout no_dropout() { return {dropout_mask(0, 0, 0, 0.0), 0}; }

// A hash of numbers in memory that any number of threads can share: the sum of what each element
// contributes, modulo 2^64, so that their order does not matter.

/// Mixes bits: every bit of the result depends on every bit of `value`, and different values give
/// different results (two rounds of xorshift and multiplication by odd numbers can be undone).
LINKGAIN_BOTH constexpr std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 32;
  value *= 0x9E3779B97F4A7C15U;
  value ^= value >> 29;
  value *= 0xD1B54A32D192ED03U;
  return value ^ (value >> 32);
}

/// Returns what the element at `index` of the whole buffer adds; `bits` are its own, zero-extended.
LINKGAIN_BOTH constexpr std::uint64_t hash_contribution(std::int64_t index, std::uint64_t bits) {
  return mix(bits + mix(static_cast<std::uint64_t>(index) + 1));
}

}  // namespace linkgain::kernels
