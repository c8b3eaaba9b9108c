#include "gpu_memory.hpp"

#include <algorithm>

#include "kernels/gpt2/attention/shape.hpp"
#include "kernels/gpt2/token_rows.hpp"

namespace linkgain {
namespace {

/// Hands out one span behind the other.
class Arena {
 public:
  MemorySpan take(std::int64_t bytes) {
    const MemorySpan span{next_, bytes};
    next_ = round_up(span.end(), kSpanAlignment);
    return span;
  }
  std::int64_t size() const { return next_; }

 private:
  std::int64_t next_ = 0;
};

/// Sizes of the matrices of a batch, in bytes.
struct Sizes {
  std::int64_t tokens;
  std::int64_t activations;  ///< tokens × channels
  std::int64_t stream;       ///< the same in float32
  std::int64_t lse;
  std::int64_t dropout_bits;
  std::int64_t attention_scratch;
};

NormSpans take_norm(Arena& arena, const Sizes& sizes) {
  return {arena.take(sizes.tokens * kFloat), arena.take(sizes.tokens * kFloat)};
}

BlockSpans take_block(Arena& arena, const Sizes& sizes) {
  BlockSpans block;
  block.input = arena.take(sizes.stream);
  block.attention_norm = take_norm(arena, sizes);
  block.attention_input = arena.take(sizes.activations);
  block.qkv = arena.take(3 * sizes.activations);
  block.lse = arena.take(sizes.lse);
  block.dropout_bits = arena.take(sizes.dropout_bits);
  block.attention = arena.take(sizes.activations);
  block.middle = arena.take(sizes.stream);
  block.feed_forward_norm = take_norm(arena, sizes);
  block.feed_forward_input = arena.take(sizes.activations);
  block.expanded = arena.take(4 * sizes.activations);
  block.activated = arena.take(4 * sizes.activations);
  return block;
}

void take_shared(Arena& arena, const Sizes& sizes, Bytes kernel_scratch, GpuModelMemory& memory) {
  memory.stream_gradient = arena.take(sizes.stream);
  memory.branch = arena.take(sizes.activations);
  memory.wide_gradient = arena.take(4 * sizes.activations);
  memory.qkv_gradient = {memory.wide_gradient.begin, 3 * sizes.activations};
  memory.attention_gradient = {memory.qkv_gradient.end(), sizes.activations};
  memory.attention_scratch = arena.take(sizes.attention_scratch);
  memory.kernel_scratch = arena.take(kernel_scratch.value);
  memory.inputs = arena.take(sizes.tokens * kFloat);
  memory.targets = arena.take(sizes.tokens * kFloat);
  memory.token_rows = arena.take(kernels::TokenRowsLayout{sizes.tokens}.words() * kFloat);
  memory.loss = arena.take(kFloat);
  memory.squared_norm = arena.take(kFloat);
  memory.hash = arena.take(2 * kFloat);
}

}  // namespace

GpuModelMemory gpu_model_memory(const Gpt2Config& config, const BatchShape& shape,
                                kernels::TrainingPrecision precision, Bytes kernel_scratch) {
  const bool is_short = precision == kernels::TrainingPrecision::bf16;
  const std::int64_t width = is_short ? kFloat / 2 : kFloat;
  const std::int64_t tokens = shape.tokens();
  const kernels::AttentionShape attention{shape.samples, shape.length, config.heads,
                                          config.head_channels()};
  const Sizes sizes{.tokens = tokens,
                    .activations = tokens * config.channels * width,
                    .stream = tokens * config.channels * kFloat,
                    .lse = tokens * config.heads * kFloat,
                    .dropout_bits = kernels::attention_mask_bytes(attention),
                    .attention_scratch = kernels::attention_scratch_bytes(attention)};
  Arena arena;
  GpuModelMemory memory;
  for (int block = 0; block < config.layers; ++block) {
    memory.blocks.push_back(take_block(arena, sizes));
  }
  memory.final_input = arena.take(sizes.stream);
  memory.final_norm = take_norm(arena, sizes);
  memory.final_output = arena.take(sizes.activations);
  memory.logits = arena.take(tokens * padded_vocabulary(config) * width);
  memory.row_losses = arena.take(tokens * kFloat);
  take_shared(arena, sizes, kernel_scratch, memory);
  memory.arena = {arena.size()};
  const std::int64_t elements = std::max<std::int64_t>(
      ParameterTable(config).count(), std::int64_t{padded_vocabulary(config)} * config.channels);
  memory.flat = {round_up(elements * kFloat, kSpanAlignment)};
  memory.copy = {is_short ? memory.flat.value / 2 : 0};
  return memory;
}

}  // namespace linkgain
