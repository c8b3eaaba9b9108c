#pragma once

#include <optional>
#include <vector>

#include "linkgain/base/data_type.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpt2/gpt2_config.hpp"
#include "linkgain/gpt2/training_parameters.hpp"

namespace linkgain {

struct BucketSettings {
  BucketRule rule = BucketRule::current;
  /// PyTorch's bucket_cap_mb, in bytes; absent is 25 MiB. The first bucket to be filled has the
  /// limit 1 MiB, so that communication begins early, but under `current` only where this is
  /// absent.
  std::optional<Bytes> limit;
};

/// Gradients that are reduced at once.
struct GradientBucket {
  std::vector<int> tensors;  ///< indices into the table, in the order in which they were taken
  ParameterRange range;      ///< where they all lie, without a gap

  bool operator==(const GradientBucket&) const = default;
};

/// Assigns gradients as PyTorch DDP does, in the order of communication: a bucket closes after the
/// tensor with which it reaches its limit; no tensor is split. `type` is that of the gradients.
/// Throws UsageError for a limit below 1.
std::vector<GradientBucket> gradient_buckets(const ParameterTable& table,
                                             const BucketSettings& settings, DataType type);

/// Returns whether a rank updates only its shard of the parameters.
bool shards_optimizer(TrainingStrategy strategy);

/// One run through a segment. A step has table.segments() forward passes, from 0 to the last
/// segment, then as many backward ones, from the last to 0.
struct SegmentPass {
  int segment = 0;
  bool is_backward = false;
  std::vector<ParameterRange> gathers;  ///< what must be gathered before it; each a bucket's range
};

/// What a strategy does in every step, the same on all ranks.
struct StrategyPlan {
  /// What is reduced at once, in this order. Shards are those of buckets. Under zero3 these are the
  /// segments, the two embeddings apart, whatever the settings say.
  std::vector<GradientBucket> buckets;
  std::vector<SegmentPass> passes;
};

/// Plans the buckets and gathers of a strategy. Under zero3 the token embedding is gathered for the
/// first segment and again for the last one, from where it stays until backward has ended; the last
/// segment's own parameters stay between its forward and its backward, which follow each other.
/// `type` is that of the gradients. Throws UsageError where shards would not be equal, with the
/// numbers of ranks for which they are.
StrategyPlan plan_strategy(TrainingStrategy strategy, const ParameterTable& table,
                           const BucketSettings& buckets, DataType type, int ranks);

/// Returns the buckets that a case asks for. A fraction of a byte is left out, as PyTorch does.
BucketSettings bucket_settings(const TrainingParameters& training);

/// Counts the buckets that these make; nothing for strategies for which buckets cannot be chosen.
std::optional<int> bucket_count(const TrainingParameters& training);

/// Throws UsageError where plan_strategy() would for a case on so many ranks.
void require_equal_shards(const TrainingParameters& training, int ranks);

}  // namespace linkgain
