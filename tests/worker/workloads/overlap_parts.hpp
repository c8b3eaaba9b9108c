#pragma once

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "linkgain/base/units.hpp"
#include "support/training_precisions.hpp"

/// When the parts of a training's steps happened, on one rank and over all, and what they make of
/// the model of buckets. All times are in seconds.
namespace linkgain::test {

/// An operation that is not performed starts and ends when it is ready.
struct OperationTimes {
  double ready = 0.0;  ///< the model has come to where it was enqueued
  double start = 0.0;  ///< ready, and the operation before it has ended
  double end = 0.0;
};

/// A step on one rank, by that rank's clock, or medians of steps since they began.
struct StepTimes {
  double begin = 0.0;
  std::vector<OperationTimes> operations;
  double resumed = 0.0;  ///< the model goes on after the last wait
  double finish = 0.0;   ///< the update is done

  /// Says when the last gradients are ready; a step has an operation at least.
  double backward_end() const { return operations.back().ready; }
};

/// One rank's.
using RankSteps = std::vector<StepTimes>;

/// Turns steps into numbers that ranks can send each other; every step has `operations` operations.
std::vector<double> numbers_of(std::span<const StepTimes> steps);
RankSteps steps_of(std::span<const double> numbers, std::size_t operations);

/// Takes medians over steps of the times since the begin.
StepTimes median_step(std::span<const StepTimes> steps);

/// Takes the latest of each time.
StepTimes latest(std::span<const StepTimes> ranks);

/// Returns what must be added to the times of `other` to have those of `first`, another rank in the
/// same step: an all-reduce ends at nearly the same moment on all ranks, so this is the median of
/// the differences of ends.
double clock_offset(const StepTimes& first, const StepTimes& other);

/// Merges a step's ranks, by the clock of the first, since it has begun on the last one: an
/// operation is ready when it is so on the last rank, and starts where the last one has joined it.
StepTimes joint_step(std::span<const StepTimes> ranks);

/// Takes medians of the joint steps. All ranks have as many.
StepTimes joint_median(std::span<const RankSteps> ranks);

/// Returns for each operation the median of how long the first rank in it waits for the last one.
std::vector<double> waits(std::span<const RankSteps> ranks);

/// Returns for each operation the median of its joint duration, since the last rank has joined it.
std::vector<double> joint_durations(std::span<const RankSteps> ranks);

struct BucketSchedule {
  std::vector<Seconds> finish;
  /// How long communication goes on after the last bucket is ready, which is when backward ends.
  Seconds exposed;
};

/// Schedules operations that are ready as those of `step` by the bucket model: they go one after
/// the other, in order, none before it is ready: finish_k = max(ready_k, finish_(k-1)) +
/// duration_k. Computing is taken to be no slower for it.
BucketSchedule schedule_of(const StepTimes& step, std::span<const double> durations);

/// What was measured of one precision. Times of steps are seconds, those of the slowest rank.
struct OverlapFindings {
  double step = 0.0;               ///< with all communication, unwatched
  double step_without = 0.0;       ///< with none
  double step_without_tail = 0.0;  ///< with all operations but the last
  double step_of_tail = 0.0;       ///< with the last operation alone
  std::vector<RankSteps> with;     ///< watched, of each rank
  std::vector<RankSteps> without;  ///< watched, nothing performed
  std::vector<RankSteps> alone;    ///< the operations one after the other on idle devices
};

/// Where a step's exposed communication is not the model's. The parts from `compute` to `unseen`
/// are of the difference measured - predicted, and are all of it.
struct OverlapSplit {
  double predicted = 0.0;  ///< from ready times without communication and durations alone
  double measured = 0.0;   ///< step - step_without
  double compute = 0.0;    ///< backward ends later where operations run beside it
  double skew = 0.0;       ///< the last rank's backward ends later than each rank's usually does
  double shift = 0.0;      ///< the model's answer for the later ready times, less the first
  double reduction = 0.0;  ///< its answer for durations within the step, less that for those alone
  double link_gaps = 0.0;  ///< from the end of backward to the last operation's, less the model's
  double resuming = 0.0;   ///< from the last operation's end to where the model goes on
  double update = 0.0;     ///< from there to the step's end, less what norm and update take without
  double unseen = 0.0;     ///< measured, less watched steps with communication and without

  double difference() const { return measured - predicted; }
  /// Returns 15 % of what is predicted, or 0.5 ms if that is more.
  double tolerance() const;
  bool is_within() const { return difference() <= tolerance() && -difference() <= tolerance(); }
};

/// One bucket's times, since the begin of the step, or durations.
struct BucketFinding {
  double ready_without = 0.0;  ///< on the rank where it is latest
  double ready = 0.0;          ///< on the last rank, with communication
  double start = 0.0;
  double end = 0.0;
  double alone = 0.0;   ///< duration
  double within = 0.0;  ///< duration in the step, once the last rank has joined
  double model_end = 0.0;
  double wait = 0.0;  ///< of the first rank for the last one
};

OverlapSplit split_overlap(const OverlapFindings& findings);
std::vector<BucketFinding> bucket_findings(const OverlapFindings& findings);

/// Returns a precision's findings as tables and sentences, times in milliseconds. `sizes` are the
/// buckets'.
std::string overlap_text(std::string_view precision, const OverlapFindings& findings,
                         std::span<const Bytes> sizes);

/// Returns the first line, which overlap_csv() goes on from.
std::string overlap_csv_header();

/// Puts every figure of the text into a line of its own, in seconds. `bucket` is empty for those of
/// the whole step.
std::string overlap_csv(std::string_view precision, const OverlapFindings& findings);

struct OverlapOptions {
  std::vector<kernels::TrainingPrecision> precisions{std::begin(kPrecisions),
                                                     std::end(kPrecisions)};
  int steps = 100;
  bool has_usual_priority = false;
  std::string csv;

  /// Blocks of each arm that make the steps.
  int turns(int steps_per_block) const { return (steps + steps_per_block - 1) / steps_per_block; }
};

inline std::string overlap_usage() {
  return "usage: mpirun -np N [-x NCCL_VARIABLE=VALUE] training_overlap [--steps N]\n"
         "         [--precision fp32|tf32|bf16] [--strategy ddp] [--priority usual|highest]\n"
         "         [--csv FILE]\n\n"
         "Trains GPT-2 124M on 2 or more GPUs, 4 x 1024 tokens each, and prints how far exposed\n"
         "communication is from what the bucket model gives, and where that comes from. N (100)\n"
         "steps are timed in blocks of 10, one after the other with and without communication. "
         "The\n"
         "model speaks of ddp, so no other strategy is taken.\n\n"
         "What PyTorch's users could change it with: --priority of the stream of communication "
         "(the\n"
         "highest by default; PyTorch's own is usual), and in the environment\n"
         "  NCCL_MAX_CTAS=N           multiprocessors that NCCL takes, at most (as "
         "config.maxCTAs)\n"
         "  NCCL_CGA_CLUSTER_SIZE=N   how many of them must be free at once, 0 to 8 (4 from "
         "sm_90)\n"
         "  NCCL_NTHREADS=N, NCCL_PROTO=LL128, NCCL_BUFFSIZE=N, CUDA_DEVICE_MAX_CONNECTIONS=N\n";
}

/// Returns none if the arguments are not understood.
inline std::optional<OverlapOptions> parse_overlap_options(
    const std::vector<std::string>& arguments) {
  OverlapOptions options;
  if (arguments.size() % 2 != 0) return std::nullopt;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& name = arguments[i];
    const std::string& value = arguments[i + 1];
    if (name == "--precision") {
      std::erase_if(options.precisions, [&](const auto each) { return text_of(each) != value; });
    } else if (name == "--steps") {
      const char* end = value.data() + value.size();
      const auto [stop, error] = std::from_chars(value.data(), end, options.steps);
      if (stop != end || error != std::errc()) return std::nullopt;
    } else if (name == "--csv") {
      options.csv = value;
    } else if (name == "--priority" && (value == "usual" || value == "highest")) {
      options.has_usual_priority = value == "usual";
    } else if (name != "--strategy" || value != "ddp") {
      return std::nullopt;
    }
  }
  if (options.steps < 1 || options.precisions.empty()) return std::nullopt;
  return options;
}

}  // namespace linkgain::test
