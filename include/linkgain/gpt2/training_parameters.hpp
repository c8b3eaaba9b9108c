#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/names.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpt2/gpt2_config.hpp"

namespace linkgain {

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

/// The first architecture, sm_80, that has arithmetic in bfloat16.
inline constexpr int kFirstWithBfloat16 = 80;

/// Sequences that a rank computes in a step by default: the guide's.
inline constexpr int kUsualSamples = 4;
inline constexpr double kUsualDropout = 0.1;

/// Steps that are timed together.
inline constexpr int kStepsPerBlock = 10;

/// Returns tokens of the longest sequence of a model, which is what it is trained with by default.
int longest_sequence(ModelSize model);

/// What a case of gpt2_step has instead of type, reduction, size and memory.
struct TrainingParameters {
  ModelSize model = ModelSize::gpt2;
  TrainingPrecision precision = TrainingPrecision::fp32;
  TrainingStrategy strategy = TrainingStrategy::ddp;
  BucketRule buckets = BucketRule::current;  ///< of ddp and zero2
  std::optional<double> bucket_mib;          ///< absent: PyTorch's limits
  int samples = kUsualSamples;               ///< of each rank
  int length = longest_sequence(ModelSize::gpt2);
  double dropout = kUsualDropout;

  bool operator==(const TrainingParameters&) const = default;
};

/// Returns whether a strategy puts gradients into buckets that can be chosen.
bool has_buckets(TrainingStrategy strategy);

/// Returns the trained numbers: 124,439,808 of gpt2.
std::int64_t parameter_count(ModelSize model);

/// Returns bytes of one parameter's gradient as ranks exchange them: 8 with fp64, else 4, also with
/// bf16, whose gradients PyTorch's autocast leaves in single precision too.
std::int64_t gradient_element_bytes(TrainingPrecision precision);

/// Returns all gradients of a step, which is what a case of gpt2_step has as its size.
Bytes gradient_bytes(const TrainingParameters& training);

/// Returns how often a rank sends (n - 1) / n of all parameters' bytes in a step: once for a
/// reduce-scatter or an all-gather, twice for an all-reduce, which is the least that rings can do
/// (P. Patarasuk, X. Yuan 2009). 2 for ddp and zero2; 3 for zero3, which gathers parameters twice.
double passes_over_parameters(TrainingStrategy strategy);

/// Returns bytes that all ranks together must send in a step: with S bytes of parameters
/// passes_over_parameters() times S (n - 1), less what zero3 need not gather twice, the last
/// norm's: they stay from forward to backward, which follow each other. The scalar of the
/// gradients' norm is left out.
double training_payload(const TrainingParameters& training, int ranks);

/// Returns what one rank's training may take of its device's memory: an upper bound of parameters,
/// gradients, moments, activations and scratch. Without the workspace of matrix products and what
/// CUDA and NCCL take themselves.
std::int64_t training_memory(const TrainingParameters& training);

/// Returns "fp32/gpt2", what stands before the ranks in a case's name.
std::string leading_text(const TrainingParameters& training);

/// Returns "/zero2/batch=8", what stands behind the ranks; empty if all is usual. In this order:
/// the strategy but for ddp, buckets=legacy, bucket-mb=M, batch=B, sequence=T, dropout=P.
std::string trailing_text(const TrainingParameters& training);

/// Takes one field of trailing_text(), without its slash, into `training`. False where `field` is
/// none. Throws UsageError for a value that is none.
bool read_field(TrainingParameters& training, std::string_view field);

/// Throws UsageError that names the field at fault.
void validate(const TrainingParameters& training);

/// What trainings are chosen by; what is absent or empty is as usual.
struct TrainingSelection {
  std::vector<ModelSize> models;
  std::vector<TrainingPrecision> precisions;
  std::vector<TrainingStrategy> strategies;
  std::optional<BucketRule> buckets;
  std::optional<double> bucket_mib;
  std::optional<int> samples;
  std::optional<int> length;
  std::optional<double> dropout;

  bool operator==(const TrainingSelection&) const = default;
};

/// Returns every combination, precisions within models and strategies within precisions. After the
/// others of a precision the step without communication, against which they are held. Buckets are
/// those of the strategies that have some. `models` and `precisions` are not empty; throws
/// UsageError for values that no model has.
std::vector<TrainingParameters> combinations(const TrainingSelection& selection);

/// Returns how far apart, as a share of the loss, rounding alone may bring the losses of two
/// variants that train alike in their first kJudgedSteps steps. 1e-5 in fp32 and tf32, 1e-4 in
/// bf16, 1e-9 in fp64, for 8192 tokens a step or more; of fewer tokens, whose errors cancel less,
/// more by the square root of how many times fewer there are. Source:
/// results/2xH200-training-strategies and 4xH200-training, where sums in another order and other
/// algorithms of cuBLASLt part losses by 1.6e-8 in fp32, 1.4e-7 in tf32 and 7.9e-6 in bf16 at most,
/// after 220 steps no further than after 11. Leaving out communication altogether parts them by
/// 1e-3 after 11 steps, so that a fault of a single bucket may stay below the bound: losses within
/// it prove nothing, others are not right.
double loss_bound(const TrainingParameters& training, int ranks);

}  // namespace linkgain
