#include "linkgain/gpt2/training_strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

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

constexpr Bytes kFirstLimit{std::int64_t{1} << 20};
constexpr Bytes kUsualLimit{std::int64_t{25} << 20};

Bytes first_limit(const BucketSettings& settings) {
  if (settings.rule == BucketRule::current && settings.limit) return *settings.limit;
  return kFirstLimit;
}

/// Returns the tensors in the order in which they are put into buckets.
std::vector<int> order_of(const ParameterTable& table, BucketRule rule) {
  std::vector<int> order(table.ready_order().begin(), table.ready_order().end());
  if (rule == BucketRule::legacy) std::ranges::sort(order);
  return order;
}

/// Returns the place of all tensors of a bucket. They are neighbours in any order of definition,
/// and in its reverse, which is the one in which GPT-2's gradients become final.
ParameterRange range_of(const ParameterTable& table, std::span<const int> tensors) {
  std::int64_t begin = table.count();
  std::int64_t end = 0;
  std::int64_t count = 0;
  for (const int index : tensors) {
    const ParameterRange range = table.tensors()[static_cast<std::size_t>(index)].range();
    begin = std::min(begin, range.offset);
    end = std::max(end, range.end());
    count += range.count;
  }
  if (end - begin != count) throw std::logic_error("a bucket's tensors are no neighbours");
  return {begin, count};
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

std::vector<GradientBucket> gradient_buckets(const ParameterTable& table,
                                             const BucketSettings& settings, DataType type) {
  if (settings.limit && settings.limit->value < 1) {
    throw UsageError(fmt::format("buckets of {} bytes hold nothing", settings.limit->value),
                     "take a limit of 1 byte or more; 25 MiB is PyTorch's");
  }
  std::vector<GradientBucket> buckets;
  Bytes limit = first_limit(settings);
  Bytes size{0};
  bool is_open = false;
  for (const int index : order_of(table, settings.rule)) {
    if (!is_open) buckets.emplace_back();
    buckets.back().tensors.push_back(index);
    size.value += table.tensors()[static_cast<std::size_t>(index)].count() * size_of(type);
    is_open = size < limit;
    if (is_open) continue;
    limit = settings.limit.value_or(kUsualLimit);
    size = Bytes{0};
  }
  for (GradientBucket& bucket : buckets) bucket.range = range_of(table, bucket.tensors);
  if (settings.rule == BucketRule::legacy) std::ranges::reverse(buckets);
  return buckets;
}

}  // namespace linkgain
