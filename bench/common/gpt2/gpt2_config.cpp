#include "linkgain/gpt2/gpt2_config.hpp"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>
#include <utility>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

constexpr int kFirstOfBlocks = static_cast<int>(TensorKind::attention_norm_weight);
constexpr int kFirstAfterBlocks = static_cast<int>(TensorKind::final_norm_weight);
constexpr int kTensorsPerBlock = kFirstAfterBlocks - kFirstOfBlocks;

}  // namespace

Gpt2Config gpt2_config(ModelSize size) {
  switch (size) {
    case ModelSize::gpt2:
      return {.vocabulary = 50257, .positions = 1024, .channels = 768, .layers = 12, .heads = 12};
    case ModelSize::tiny:
      return {.vocabulary = 131, .positions = 32, .channels = 64, .layers = 2, .heads = 2};
  }
  throw std::invalid_argument("no such model size");
}

int padded_vocabulary(const Gpt2Config& config) {
  constexpr int kMultiple = 64;
  return static_cast<int>(round_up(config.vocabulary, kMultiple));
}

void validate(const Gpt2Config& config, const BatchShape& shape) {
  if (config.vocabulary < 1 || config.positions < 1 || config.channels < 1 || config.layers < 1 ||
      config.heads < 1) {
    throw UsageError("a model needs at least one of everything");
  }
  if (config.channels % config.heads != 0) {
    throw UsageError(
        fmt::format("{} channels do not divide by {} heads", config.channels, config.heads));
  }
  if (shape.samples < 1) {
    throw UsageError(fmt::format("a batch of {} sequences is none", shape.samples),
                     "take a batch of 1 or more");
  }
  if (shape.length < 1 || shape.length > config.positions) {
    throw UsageError(fmt::format("the model has no sequences of {} tokens", shape.length),
                     fmt::format("take 1 to {}", config.positions));
  }
}

ParameterTable::ParameterTable(const Gpt2Config& config) : config_(config) {
  const int channels = config.channels;
  add("wte.weight", TensorKind::token_embedding, 0, config.vocabulary, channels);
  add("wpe.weight", TensorKind::position_embedding, 0, config.positions, channels);
  for (int block = 0; block < config.layers; ++block) add_block(block);
  add("ln_f.weight", TensorKind::final_norm_weight, segments() - 1, 1, channels);
  add("ln_f.bias", TensorKind::final_norm_bias, segments() - 1, 1, channels);
  ready_order_.resize(tensors_.size());
  std::iota(ready_order_.rbegin(), ready_order_.rend(), 0);
}

void ParameterTable::add(std::string name, TensorKind kind, int segment, std::int64_t rows,
                         std::int64_t columns) {
  const std::int64_t offset = tensors_.empty() ? 0 : count();
  tensors_.push_back({"transformer." + std::move(name), kind, segment, rows, columns, offset});
}

void ParameterTable::add_block(int block) {
  const int channels = config_.channels;
  const int hidden = config_.hidden_channels();
  const auto add_here = [&](const char* name, TensorKind kind, int rows, int columns) {
    add(fmt::format("h.{}.{}", block, name), kind, block + 1, rows, columns);
  };
  add_here("ln_1.weight", TensorKind::attention_norm_weight, 1, channels);
  add_here("ln_1.bias", TensorKind::attention_norm_bias, 1, channels);
  add_here("attn.c_attn.weight", TensorKind::attention_weight, channels, 3 * channels);
  add_here("attn.c_attn.bias", TensorKind::attention_bias, 1, 3 * channels);
  add_here("attn.c_proj.weight", TensorKind::projection_weight, channels, channels);
  add_here("attn.c_proj.bias", TensorKind::projection_bias, 1, channels);
  add_here("ln_2.weight", TensorKind::feed_forward_norm_weight, 1, channels);
  add_here("ln_2.bias", TensorKind::feed_forward_norm_bias, 1, channels);
  add_here("mlp.c_fc.weight", TensorKind::expansion_weight, channels, hidden);
  add_here("mlp.c_fc.bias", TensorKind::expansion_bias, 1, hidden);
  add_here("mlp.c_proj.weight", TensorKind::contraction_weight, hidden, channels);
  add_here("mlp.c_proj.bias", TensorKind::contraction_bias, 1, channels);
}

int ParameterTable::index_of(TensorKind kind, int block) const {
  const int place = static_cast<int>(kind);
  if (place < kFirstOfBlocks) return place;
  if (place < kFirstAfterBlocks) return place + block * kTensorsPerBlock;
  return place + (config_.layers - 1) * kTensorsPerBlock;
}

const ParameterTensor& ParameterTable::tensor(TensorKind kind, int block) const {
  return tensors_.at(static_cast<std::size_t>(index_of(kind, block)));
}

ParameterRange ParameterTable::segment_range(int segment) const {
  ParameterRange range;
  for (const ParameterTensor& each : tensors_) {
    if (each.segment != segment) continue;
    if (range.count == 0) range.offset = each.offset;
    range.count += each.count();
  }
  return range;
}

bool ParameterTable::reads_token_embedding(int segment) const {
  return segment == 0 || segment == segments() - 1;
}

ParameterRange shard_of(const ParameterRange& range, int rank, int ranks) {
  if (range.count % ranks != 0) {
    throw UsageError(fmt::format("{} parameters do not divide by {} ranks", range.count, ranks),
                     "take 2, 4 or 8 ranks, or the strategy ddp");
  }
  const std::int64_t part = range.count / ranks;
  return {range.offset + rank * part, part};
}

void FlatMemory::require(const ParameterRange& range) const {
  if (has(range)) return;
  throw std::logic_error(
      fmt::format("{} elements from {} on, of a memory of {}", range.count, range.offset, count));
}

}  // namespace linkgain
