#pragma once

#include <optional>
#include <vector>

#include "linkgain/base/data_type.hpp"
#include "linkgain/gpt2/gradient_buckets.hpp"
#include "linkgain/gpt2/parameter_table.hpp"
#include "linkgain/gpt2/training_case.hpp"
#include "linkgain/gpt2/training_parameters.hpp"

namespace linkgain {

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
