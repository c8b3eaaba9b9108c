#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linkgain/gpt2/training_strategy.hpp"
#include "linkgain/model/tokens.hpp"
#include "linkgain/model/training_model.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/session.hpp"
#include "linkgain/runtime/training_communication.hpp"

namespace linkgain {

struct TrainingSettings {
  TrainingStrategy strategy = TrainingStrategy::ddp;
  BucketSettings buckets;
  OptimizerSettings optimizer;
  std::int64_t steps = 200;  ///< over which the learning rate falls to 0
};

/// What a rank trains, with whom and on what. All ranks' models begin with the same parameters.
struct TrainingParts {
  std::unique_ptr<TrainingModel> model;
  std::unique_ptr<TrainingCommunication> communication;  ///< gone before the model
  std::unique_ptr<TokenSource> tokens;                   ///< the same text on all ranks
};

/// One rank of a training. All ranks call the same members in the same order; none of them but
/// those that say so waits for the device.
class TrainingRun {
 public:
  /// Throws UsageError where the settings do not fit the model or the ranks.
  TrainingRun(TrainingParts parts, const TrainingSettings& settings);

  /// Enqueues step `step`, from 0 on: forward, backward, clipping and AdamW, with all
  /// communication, of which the model's next work sees the end. Ranks compute their parts of the
  /// step's batch; gradients are averaged over ranks, but under `none`, where each has its own.
  void run_step(std::int64_t step);

  /// Waits. Forward and backward of this rank's batch, no communication of gradients and no update:
  /// for every rank the hash of what it owns of them.
  std::vector<std::uint64_t> hash_own_gradients(std::int64_t step);

  /// Waits. The same with communication, to which a rank that does not contribute gives zeros: the
  /// hash of what this rank owns of the sums. Where one rank contributes, that is exactly what
  /// hash_own_gradients() told it.
  std::uint64_t hash_summed_gradients(std::int64_t step, bool contributes);

  /// Waits for all that was enqueued.
  void synchronize() { parts_.model->synchronize(); }

  /// Waits. The mean loss of this rank's part of the last step's batch.
  double read_loss() { return parts_.model->read_loss(); }

  /// Gathers parameters, so that every rank has all of them, which only zero3 has still to do: for
  /// checks. All ranks call it. The model's parameter_hash() is equal on all after it, but under
  /// `none`.
  void gather_parameters();

  TrainingModel& model() { return *parts_.model; }
  const TrainingModel& model() const { return *parts_.model; }
  TrainingCommunication& communication() { return *parts_.communication; }
  const TrainingSettings& settings() const { return settings_; }
  const StrategyPlan& plan() const { return plan_; }

  /// Returns what this rank updates of each of plan().buckets.
  std::span<const ParameterRange> owned() const { return owned_; }

 private:
  class BucketReduction;

  struct Gather {
    CommunicationTicket ticket;
    ParameterRange range;
  };

  void begin_step(std::int64_t step, double gradient_scale);
  void run_passes(GradientListener& listener);
  std::uint64_t hash_gradients_of(int rank);
  void run_pass(const SegmentPass& pass, GradientListener& listener);
  void add_norms(BucketReduction& reduction);
  void update(std::int64_t step);
  void start_gathers(std::span<const ParameterRange> ranges);
  void finish_gathers();

  TrainingParts parts_;
  TrainingSettings settings_;
  StrategyPlan plan_;
  std::vector<ParameterRange> owned_;
  std::vector<Gather> gathers_;  ///< under way
  std::vector<std::int32_t> batch_;
};

/// Says what is wrong with the gradients that a rank got while only rank `from` had some to give,
/// and all others zeros: "gradients of rank 1 alone came out of communication with hash 2a instead
/// of 2b". Empty where they are those that `from` gave.
std::string problem_of_gradients(int from, std::uint64_t found, std::uint64_t expected);

/// Says what is wrong with the parameters of `rank`, given a hash of every rank's after a step:
/// they should be alike. Those that most ranks have count as right, of several equally frequent
/// those of the lowest rank. Empty where nothing is wrong.
std::string problem_of_parameters(std::span<const std::uint64_t> hashes, int rank);

/// Makes the training of a case of gpt2_step as one operation after the other: a step each, in
/// batches of kStepsPerBlock after one that is discarded. The model is on this rank's GPU, or of
/// fp64 the reference on its CPU. `products`: algorithms that another job's execution told, or
/// none. Local to the rank until prepare(); session and backend must outlive it. Throws UsageError
/// for a token file or a number of ranks that does not fit, MachineError where memory is short.
std::unique_ptr<Operation> make_training_operation(Session& session, Backend& backend,
                                                   const Case& c, const TrainingPlan& plan,
                                                   const std::vector<std::string>& products);

}  // namespace linkgain
