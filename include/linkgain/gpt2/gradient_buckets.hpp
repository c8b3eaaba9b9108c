#pragma once

#include <optional>
#include <vector>

#include "linkgain/base/data_type.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpt2/parameter_table.hpp"
#include "linkgain/gpt2/training_case.hpp"

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

}  // namespace linkgain
