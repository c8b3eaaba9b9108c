#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "linkgain/base/data_type.hpp"
#include "linkgain/base/names.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {

/// The sizes that --model-size names.
enum class ModelSize {
  gpt2,  ///< GPT-2 124M
  tiny,  ///< small enough for fp64 on a CPU
};

template <>
inline constexpr auto kNames<ModelSize> =
    names<ModelSize>("model size", {{ModelSize::gpt2, "gpt2"}, {ModelSize::tiny, "tiny"}});

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

/// Elements offset … offset + count - 1 of a flat buffer.
struct ParameterRange {
  std::int64_t offset = 0;
  std::int64_t count = 0;

  std::int64_t end() const { return offset + count; }
  bool operator==(const ParameterRange&) const = default;
};

/// Returns the part of `range` that `rank` of `ranks` owns: the rank-th of equal parts. Throws
/// UsageError where it does not divide; every tensor of GPT-2 124M divides by 2, 4 and 8.
ParameterRange shard_of(const ParameterRange& range, int rank, int ranks);

/// `count` elements in the memory of whatever computes: a GPU's, or the host's. Owned by the model,
/// in the same place as long as it lives.
struct FlatMemory {
  void* data = nullptr;
  DataType type = DataType::float32;
  std::int64_t count = 0;

  Bytes bytes_of(const ParameterRange& range) const { return {range.count * size_of(type)}; }
  void* at(std::int64_t element) const {
    return static_cast<char*>(data) + element * size_of(type);
  }
  bool has(const ParameterRange& range) const {
    return range.offset >= 0 && range.count >= 0 && range.end() <= count;
  }
  /// Throws std::logic_error for a range that it does not have.
  void require(const ParameterRange& range) const;
};

/// In order of definition; those from attention_norm_weight to contraction_bias are in every block.
enum class TensorKind {
  token_embedding,
  position_embedding,
  attention_norm_weight,
  attention_norm_bias,
  attention_weight,  ///< queries, keys and values beside each other
  attention_bias,
  projection_weight,
  projection_bias,
  feed_forward_norm_weight,
  feed_forward_norm_bias,
  expansion_weight,
  expansion_bias,
  contraction_weight,
  contraction_bias,
  final_norm_weight,
  final_norm_bias,
};

/// One tensor, row-major. Weights of projections are input × output, as GPT-2 stores them.
struct ParameterTensor {
  std::string name;  ///< as PyTorch's GPT2LMHeadModel calls it: "transformer.h.0.ln_1.weight"
  TensorKind kind = TensorKind::token_embedding;
  int segment = 0;
  std::int64_t rows = 1;  ///< 1 for a vector
  std::int64_t columns = 0;
  std::int64_t offset = 0;

  std::int64_t count() const { return rows * columns; }
  ParameterRange range() const { return {offset, count()}; }
};

/// The tensors of a GPT-2 in one flat buffer, without gaps, in PyTorch's order of definition. The
/// head has no tensor of its own: its weight is token_embedding.
///
/// Segments are what computes at once: 0 the embedding, 1 … layers the blocks, the last one the
/// final norm, the head and the loss. The last segment reads (and has gradients for) the token
/// embedding, which is of segment 0.
class ParameterTable {
 public:
  explicit ParameterTable(const Gpt2Config& config);

  const Gpt2Config& config() const { return config_; }
  std::span<const ParameterTensor> tensors() const { return tensors_; }
  std::int64_t count() const { return tensors_.back().range().end(); }
  int segments() const { return config_.layers + 2; }

  /// Returns the index of a tensor; `block` is left out of account for tensors that are in none.
  int index_of(TensorKind kind, int block = 0) const;
  const ParameterTensor& tensor(TensorKind kind, int block = 0) const;

  /// Returns a segment's own tensors.
  ParameterRange segment_range(int segment) const;

  /// Returns whether `segment` computes with token_embedding: the first and the last.
  bool reads_token_embedding(int segment) const;

  /// Returns the tensors' indices in the order in which backward makes their gradients final: from
  /// the last to the first, so that the tied token embedding, which has contributions of both ends,
  /// is last.
  std::span<const int> ready_order() const { return ready_order_; }

 private:
  void add(std::string name, TensorKind kind, int segment, std::int64_t rows, std::int64_t columns);
  void add_block(int block);

  Gpt2Config config_;
  std::vector<ParameterTensor> tensors_;
  std::vector<int> ready_order_;
};

}  // namespace linkgain
