#pragma once

#include <cstdint>

#include "kernels/common/math.hpp"
#include "kernels/random/model_random.hpp"

// Sizes of attention, for those too who have no GPU.

namespace linkgain::kernels {

/// Returns whether there are kernels for heads of so many channels.
constexpr bool has_attention(int head_channels) {
  return head_channels == 32 || head_channels == 64;
}

/// The sizes of a batch. `head_channels` is as has_attention() says; the others are any positive
/// numbers.
struct AttentionShape {
  int samples;
  int length;
  int heads;
  int head_channels;
};

/// A side of the squares of queries and keys that dropout's mask is made of: a head of one sample
/// has those up to the diagonal, with 32 words each.
inline constexpr int kMaskSide = 32;

/// Returns bytes of the mask that the forward pass hands on to the backward pass.
constexpr std::int64_t attention_mask_bytes(const AttentionShape& shape) {
  const std::int64_t squares = divide_up(std::int64_t{shape.length}, kMaskSide);
  return std::int64_t{shape.samples} * shape.heads * (squares * (squares + 1) / 2) * kMaskSide *
         static_cast<std::int64_t>(sizeof(std::uint32_t));
}

/// Queries whose gradients the blocks of a fused backward pass add to in turn.
inline constexpr int kOrderedQueries = 32;

/// Returns bytes of the backward pass's scratch: a float per query and head, then counters of
/// additions and one counter.
constexpr std::int64_t attention_scratch_bytes(const AttentionShape& shape) {
  const std::int64_t additions = divide_up(std::int64_t{shape.length}, kOrderedQueries);
  return (std::int64_t{shape.samples} * shape.heads * (shape.length + additions) + 1) *
         static_cast<std::int64_t>(sizeof(float));
}

/// Probabilities' dropout. Of sample b, head h, query q and key k the element's number is
/// first_element + ((b * heads + h) * length + q) * length + k; what is_kept() keeps is multiplied
/// with `mask.scale`. Numbers that are multiples of 4 at the start of each query cost least.
struct AttentionDropout {
  bool enabled;
  DropoutMask mask;
  std::int64_t first_element;
};

}  // namespace linkgain::kernels
