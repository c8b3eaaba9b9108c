#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/element.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpt2/gpt2_config.hpp"

namespace linkgain {

/// Bytes begin … end - 1 of an allocation.
struct MemorySpan {
  std::int64_t begin = 0;
  std::int64_t bytes = 0;

  std::int64_t end() const { return begin + bytes; }
};

/// A multiple of which every span begins at: cuBLASLt's kernels are fastest with it.
inline constexpr std::int64_t kSpanAlignment = 256;

inline constexpr std::int64_t kFloat = 4;

/// What a LayerNorm's backward needs of its forward: float32, one of each a token.
struct NormSpans {
  MemorySpan mean;
  MemorySpan inverse_deviation;
};

/// What a block's backward needs of its forward. Matrices have a row a token; those of the residual
/// stream are float32, the others activations.
struct BlockSpans {
  MemorySpan input;  ///< residual stream
  NormSpans attention_norm;
  MemorySpan attention_input;  ///< normalised
  MemorySpan qkv;
  MemorySpan lse;           ///< float32, samples × heads × length
  MemorySpan dropout_bits;  ///< of attention's probabilities, kernels::attention_mask_bytes()
  MemorySpan attention;
  MemorySpan middle;  ///< residual stream after the attention half
  NormSpans feed_forward_norm;
  MemorySpan feed_forward_input;  ///< normalised
  MemorySpan expanded;
  MemorySpan activated;
};

/// Where a GPU model's memory is: one allocation ("arena") for activations and scratch, with a span
/// for each use, and one for each flat buffer.
struct GpuModelMemory {
  std::vector<BlockSpans> blocks;
  MemorySpan final_input;  ///< residual stream after the last block
  NormSpans final_norm;
  MemorySpan final_output;  ///< normalised
  MemorySpan logits;        ///< tokens × padded vocabulary, activations; then their gradients
  MemorySpan row_losses;    ///< float32, a token's each

  // Used again by every block.
  MemorySpan stream_gradient;  ///< tokens × channels, float32
  /// tokens × channels, activations: what forward brings back into the stream, and backward its
  /// gradient.
  MemorySpan branch;
  /// tokens × hidden channels, activations: the gradient of `expanded`, then those of qkv and
  /// attention.
  MemorySpan wide_gradient;
  MemorySpan qkv_gradient;        ///< the first three quarters of wide_gradient
  MemorySpan attention_gradient;  ///< its last quarter
  MemorySpan attention_scratch;   ///< kernels::attention_scratch_bytes()
  MemorySpan kernel_scratch;

  MemorySpan inputs;      ///< int32, a token each
  MemorySpan targets;     ///< int32, a token each
  MemorySpan token_rows;  ///< kernels::TokenRowsLayout
  MemorySpan loss;        ///< one float32
  MemorySpan squared_norm;
  MemorySpan hash;  ///< one 64-bit number

  Bytes arena;

  /// One flat float32 buffer, of parameters, gradients, or either moment; a multiple of
  /// kSpanAlignment. It reaches to the end of the padded vocabulary's rows at least, so that
  /// products over all of these stay within it.
  Bytes flat;
  Bytes copy;  ///< of the parameters in bfloat16, as far as `flat` reaches; 0 but with bf16

  /// Returns what the model allocates, without the workspace of matrix products.
  Bytes total() const { return {arena.value + 4 * flat.value + copy.value}; }
};

/// Works out the memory; pure arithmetic. `kernel_scratch` is the most that a kernel needs.
///
/// GPT-2 124M at 4 × 1024 tokens: 5.0 GiB with fp32 and tf32 (flat buffers 1.85, what blocks keep
/// 2.3, logits 0.77, the rest 0.1), 3.8 GiB with bf16 (2.1, 1.3, 0.38, 0.05). With the products'
/// workspace, CUDA's context and NCCL, about 1 GiB together, a job stays below 9 GiB in every
/// precision.
GpuModelMemory gpu_model_memory(const Gpt2Config& config, const BatchShape& shape,
                                kernels::TrainingPrecision precision, Bytes kernel_scratch);

}  // namespace linkgain
