#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/names.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpt2/training_parameters.hpp"
#include "linkgain/predict/measured_link.hpp"
#include "linkgain/predict/model_shape.hpp"
#include "linkgain/statistics/statistics.hpp"

/// What a link is worth to a model, by arithmetic and a record: docs/predict.md has the formulas.
namespace linkgain {

/// What is asked of a decoder that two GPUs or more share by tensor parallelism.
struct DecoderQuestion {
  ModelShape model;
  int batch = 1;                                     ///< sequences that are decoded together
  int context = 1024;                                ///< tokens that each has cached
  int prompt = 2048;                                 ///< tokens of the one that is read
  int chunk = 0;                                     ///< of these at once; 0: all
  std::optional<double> tokens_per_second{};         ///< of all sequences, as it is now
  std::optional<double> prompt_tokens_per_second{};  ///< the same while a prompt is read
};

/// How a training is shared out, in the words of those who ask.
enum class Sharding { ddp, fsdp, zero2, zero3 };

template <>
inline constexpr auto kNames<Sharding> = names<Sharding>("strategy", {{Sharding::ddp, "ddp"},
                                                                      {Sharding::fsdp, "fsdp"},
                                                                      {Sharding::zero2, "zero2"},
                                                                      {Sharding::zero3, "zero3"}});

/// What is asked of a training whose GPUs each have the whole batch's share.
struct TrainingQuestion {
  double parameters = 0.0;
  Seconds step{};  ///< as it is now
  Sharding strategy = Sharding::ddp;
  /// Bytes of a gradient, or of a parameter that is gathered; absent: see bytes_exchanged().
  std::optional<double> element_bytes{};
};

/// Gives the bytes that ranks exchange for each parameter: 4 by ddp, whose gradients are fp32 where
/// autocast trains in bf16, as by Trainer's bf16=True; 2 where fsdp or zero shard a model in bf16.
double bytes_exchanged(const TrainingQuestion& question);

enum class Phase { decode, prefill, training };

template <>
inline constexpr auto kNames<Phase> = names<Phase>("phase", {{Phase::decode, "decode"},
                                                             {Phase::prefill, "prefill"},
                                                             {Phase::training, "training"}});

/// All-reduces of one size; gathers and scatters count as the all-reduce that sends as many bytes.
struct Calls {
  double count = 0.0;
  double bytes = 0.0;
};

/// Which side is meant.
enum class Side { link, other };

/// A step of one phase, with the link and without.
struct PhasePrediction {
  Phase phase = Phase::decode;
  std::vector<Calls> calls{};
  Seconds communication_link{};
  Seconds communication_other{};
  /// Absent where nothing is known of the rest of the step; of a training that one of the two which
  /// was not given is absent, where no measured training tells how much of communication hides.
  std::optional<Seconds> link{};
  std::optional<Seconds> other{};
  /// How many times longer the other takes, with its interval; of a training that takes in from how
  /// much to how much of communication may be exposed. Absent as the times.
  std::optional<Estimate> ratio{};
  bool is_given = false;  ///< the user's own speed is in it, not the record's products
  /// As it is now, if its rest were that of the record's products; absent without these.
  std::optional<Seconds> by_products{};
  double tokens = 0.0;               ///< that a step makes, or reads
  std::optional<Seconds> one_gpu{};  ///< about what one GPU alone would take; absent: not known
  /// The ratios of a training from all of communication hidden to all exposed.
  std::optional<Interval> hidden_to_exposed{};
  /// Beyond the largest size measured, whose bandwidth is taken.
  bool is_beyond = false;
  /// Tells whether one GPU alone would be faster than several on that side.
  bool is_split_slower(Side side) const;
};

/// What is asked.
struct PredictionQuestion {
  std::optional<int> ranks{};  ///< absent: those that most of the record's all-reduces have
  Reducer reducer = Reducer::nccl;
  /// The variant under which the given speeds were seen; empty: the link's, or of a link that was
  /// not there what stands for today's path in measured_link().
  std::string on{};
  std::optional<DecoderQuestion> decoder{};
  std::optional<TrainingQuestion> training{};
};

struct Prediction {
  PredictionQuestion question;
  MeasuredLink measured;
  ChosenCurves curves{};
  Side on = Side::link;
  std::vector<PhasePrediction> phases{};  ///< decode, prefill; or training
  /// Whether a decoder's weights fit into the GPUs' memory, or that is not known.
  bool weights_fit = true;
};

/// Answers a question by a record. Throws UsageError where the record has no two sizes of an
/// all-reduce on both sides or lacks what is asked for, where an all-reduce is smaller than the
/// smallest, and where a given speed leaves no time beside communication.
Prediction predict(const Record& record, const PredictionQuestion& question);

/// Returns the sizes of a decoding step, of all tokens of a prompt, and of a training's step.
std::vector<Calls> decode_calls(const DecoderQuestion& question, int ranks);
std::vector<Calls> prefill_calls(const DecoderQuestion& question, int ranks);
std::vector<Calls> training_calls(double bytes, TrainingStrategy strategy, double largest);

}  // namespace linkgain
