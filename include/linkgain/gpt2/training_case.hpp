#pragma once

#include <array>
#include <string_view>

#include "linkgain/base/names.hpp"

/// What distinguishes one training from another in the name of its case.
namespace linkgain {

/// The sizes that --model-size names.
enum class ModelSize {
  gpt2,  ///< GPT-2 124M
  tiny,  ///< small enough for fp64 on a CPU
};

template <>
inline constexpr auto kNames<ModelSize> =
    names<ModelSize>("model size", {{ModelSize::gpt2, "gpt2"}, {ModelSize::tiny, "tiny"}});
inline constexpr auto kModelSizes = kValues<ModelSize>;

/// What the ranks of a training share out, and so what they communicate.
enum class TrainingStrategy {
  none,   ///< every rank trains for itself: the step without communication
  ddp,    ///< gradients are all-reduced, bucket by bucket during backward; all ranks update all
  zero2,  ///< gradients are reduce-scattered, a rank updates its shard, parameters are gathered
  /// Parameters too are sharded: gathered before a segment's forward and again before its backward,
  /// one segment ahead; gradients are reduce-scattered.
  zero3,
};

template <>
inline constexpr auto kNames<TrainingStrategy> =
    names<TrainingStrategy>("strategy", {{TrainingStrategy::none, "none"},
                                         {TrainingStrategy::ddp, "ddp"},
                                         {TrainingStrategy::zero2, "zero2"},
                                         {TrainingStrategy::zero3, "zero3"}});
inline constexpr auto kTrainingStrategies = kValues<TrainingStrategy>;

/// Which of PyTorch's ways of grouping gradients for all-reduce is followed.
enum class BucketRule {
  current,  ///< in the order in which gradients become final
  /// As in 2020 with find_unused_parameters: in order of definition, then the list of buckets (not
  /// what is in each) turned round.
  legacy,
};

template <>
inline constexpr auto kNames<BucketRule> = names<BucketRule>("bucket rule",
                                                             {{BucketRule::current, "current"},
                                                              {BucketRule::legacy, "legacy"}});
inline constexpr auto kBucketRules = kValues<BucketRule>;

/// What a training is computed in. kernels::TrainingPrecision says the same to kernels, but for
/// fp64, which is the CPU reference's and no GPU's.
enum class TrainingPrecision {
  fp32,  ///< products and sums in single precision
  tf32,  ///< products of matrices with 10 bits of mantissa, all else as fp32
  bf16,  ///< matrices in bfloat16; parameters and optimizer stay in single precision
  fp64,
};

template <>
inline constexpr auto kNames<TrainingPrecision> =
    names<TrainingPrecision>("precision", {{TrainingPrecision::fp32, "fp32"},
                                           {TrainingPrecision::tf32, "tf32"},
                                           {TrainingPrecision::bf16, "bf16"},
                                           {TrainingPrecision::fp64, "fp64"}});
inline constexpr auto kTrainingPrecisions = kValues<TrainingPrecision>;

}  // namespace linkgain
