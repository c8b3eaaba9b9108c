#include "linkgain/gpt2/training_strategy.hpp"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/gpt2/gpt2_config.hpp"

namespace linkgain {
namespace {

constexpr int kMostRanks = 8;  // which advice speaks of

ParameterRange token_embedding(const ParameterTable& table) {
  return table.tensor(TensorKind::token_embedding).range();
}

/// Returns a bucket for every segment, from the last to the first, but one for each of the
/// embeddings, which are not needed at the same places.
std::vector<GradientBucket> segment_buckets(const ParameterTable& table) {
  std::vector<GradientBucket> buckets;
  int segment = -1;
  for (const int index : table.ready_order()) {
    const ParameterTensor& tensor = table.tensors()[static_cast<std::size_t>(index)];
    if (tensor.segment != segment || tensor.kind == TensorKind::token_embedding) {
      buckets.emplace_back().range = {tensor.range().end(), 0};
    }
    segment = tensor.segment;
    GradientBucket& bucket = buckets.back();
    bucket.tensors.push_back(index);
    bucket.range = {tensor.offset, bucket.range.end() - tensor.offset};
  }
  return buckets;
}

std::vector<SegmentPass> passes_of(const ParameterTable& table) {
  std::vector<SegmentPass> passes;
  for (int i = 0; i < table.segments(); ++i) passes.push_back({i, false, {}});
  for (int i = table.segments() - 1; i >= 0; --i) passes.push_back({i, true, {}});
  return passes;
}

/// Returns what zero3 gathers before a pass.
std::vector<ParameterRange> gathers_of(const ParameterTable& table, const SegmentPass& pass) {
  const bool is_last = pass.segment == table.segments() - 1;
  if (is_last && pass.is_backward) return {};
  if (is_last) return {table.segment_range(pass.segment), token_embedding(table)};
  if (pass.segment > 0) return {table.segment_range(pass.segment)};
  const ParameterRange positions = table.tensor(TensorKind::position_embedding).range();
  if (pass.is_backward) return {positions};
  return {token_embedding(table), positions};
}

/// Returns "2, 4 or 8"; empty where only one rank has equal shards.
std::string possible_ranks(std::int64_t divisor) {
  std::vector<std::string> ranks;
  for (int i = 2; i <= kMostRanks; ++i) {
    if (divisor % i == 0) ranks.push_back(fmt::format("{}", i));
  }
  return listed(std::vector<std::string_view>(ranks.begin(), ranks.end()), "or");
}

[[noreturn]] void refuse_ranks(TrainingStrategy strategy, int ranks, std::int64_t divisor) {
  const std::string possible = possible_ranks(divisor);
  throw UsageError(
      fmt::format("{} needs equal shares of the parameters, and {} ranks do not divide them",
                  name_of(strategy), ranks),
      fmt::format("take {}, or the strategy ddp",
                  possible.empty() ? "another model size" : possible + " ranks"));
}

void require_equal_shards(TrainingStrategy strategy, std::span<const GradientBucket> buckets,
                          int ranks) {
  std::int64_t divisor = 0;
  for (const GradientBucket& each : buckets) divisor = std::gcd(divisor, each.range.count);
  if (divisor % ranks != 0) refuse_ranks(strategy, ranks, divisor);
}

/// Returns the type of gradients as ranks exchange them.
DataType gradient_type(const TrainingParameters& training) {
  return training.precision == TrainingPrecision::fp64 ? DataType::float64 : DataType::float32;
}

}  // namespace

bool shards_optimizer(TrainingStrategy strategy) {
  return strategy == TrainingStrategy::zero2 || strategy == TrainingStrategy::zero3;
}

StrategyPlan plan_strategy(TrainingStrategy strategy, const ParameterTable& table,
                           const BucketSettings& buckets, DataType type, int ranks) {
  StrategyPlan plan{gradient_buckets(table, buckets, type), passes_of(table)};
  if (strategy == TrainingStrategy::zero3) {
    plan.buckets = segment_buckets(table);
    for (SegmentPass& pass : plan.passes) pass.gathers = gathers_of(table, pass);
  }
  if (shards_optimizer(strategy)) require_equal_shards(strategy, plan.buckets, ranks);
  return plan;
}

BucketSettings bucket_settings(const TrainingParameters& training) {
  BucketSettings buckets{training.buckets, {}};
  constexpr double kMebibyte = 1 << 20;
  if (training.bucket_mib) {
    buckets.limit = Bytes{static_cast<std::int64_t>(*training.bucket_mib * kMebibyte)};
  }
  return buckets;
}

std::optional<int> bucket_count(const TrainingParameters& training) {
  if (!has_buckets(training.strategy)) return std::nullopt;
  const ParameterTable table(gpt2_config(training.model));
  return static_cast<int>(
      gradient_buckets(table, bucket_settings(training), gradient_type(training)).size());
}

void require_equal_shards(const TrainingParameters& training, int ranks) {
  if (!shards_optimizer(training.strategy)) return;
  plan_strategy(training.strategy, ParameterTable(gpt2_config(training.model)),
                bucket_settings(training), gradient_type(training), ranks);
}

}  // namespace linkgain
