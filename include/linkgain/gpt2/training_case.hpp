#pragma once

#include <array>
#include <string_view>

/// What distinguishes one training from another in the name of its case. Every parse function
/// throws UsageError with the nearest name where `name` is none.
namespace linkgain {

/// The sizes that --model-size names.
enum class ModelSize {
  gpt2,  ///< GPT-2 124M
  tiny,  ///< small enough for fp64 on a CPU
};

inline constexpr std::array kModelSizes{ModelSize::gpt2, ModelSize::tiny};

std::string_view name_of(ModelSize size);
ModelSize parse_model_size(std::string_view name);

/// What the ranks of a training share out, and so what they communicate.
enum class TrainingStrategy {
  none,   ///< every rank trains for itself: the step without communication
  ddp,    ///< gradients are all-reduced, bucket by bucket during backward; all ranks update all
  zero2,  ///< gradients are reduce-scattered, a rank updates its shard, parameters are gathered
  /// Parameters too are sharded: gathered before a segment's forward and again before its backward,
  /// one segment ahead; gradients are reduce-scattered.
  zero3,
};

inline constexpr std::array kTrainingStrategies{TrainingStrategy::none, TrainingStrategy::ddp,
                                                TrainingStrategy::zero2, TrainingStrategy::zero3};

std::string_view name_of(TrainingStrategy strategy);
TrainingStrategy parse_training_strategy(std::string_view name);

/// Which of PyTorch's ways of grouping gradients for all-reduce is followed.
enum class BucketRule {
  current,  ///< in the order in which gradients become final
  /// As in 2020 with find_unused_parameters: in order of definition, then the list of buckets (not
  /// what is in each) turned round.
  legacy,
};

inline constexpr std::array kBucketRules{BucketRule::current, BucketRule::legacy};

std::string_view name_of(BucketRule rule);
BucketRule parse_bucket_rule(std::string_view name);

/// What a training is computed in. kernels::TrainingPrecision says the same to kernels, but for
/// fp64, which is the CPU reference's and no GPU's.
enum class TrainingPrecision {
  fp32,  ///< products and sums in single precision
  tf32,  ///< products of matrices with 10 bits of mantissa, all else as fp32
  bf16,  ///< matrices in bfloat16; parameters and optimizer stay in single precision
  fp64,
};

inline constexpr std::array kTrainingPrecisions{TrainingPrecision::fp32, TrainingPrecision::tf32,
                                                TrainingPrecision::bf16, TrainingPrecision::fp64};

std::string_view name_of(TrainingPrecision precision);
TrainingPrecision parse_training_precision(std::string_view name);

}  // namespace linkgain
