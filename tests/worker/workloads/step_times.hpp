#pragma once

#include <span>
#include <vector>

#include "linkgain/base/units.hpp"

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

  /// The last gradients are ready; a step has an operation at least.
  double backward_end() const { return operations.back().ready; }
};

/// Of one rank.
using RankSteps = std::vector<StepTimes>;

/// As numbers that ranks can send each other, and back; every step has `operations` operations.
std::vector<double> numbers_of(std::span<const StepTimes> steps);
RankSteps steps_of(std::span<const double> numbers, std::size_t operations);

/// Medians over steps of the times since the begin.
StepTimes median_step(std::span<const StepTimes> steps);

/// The latest of each time.
StepTimes latest(std::span<const StepTimes> ranks);

/// What must be added to the times of `other` to have those of `first`, another rank in the same
/// step: an all-reduce ends at nearly the same moment on all ranks, so this is the median of the
/// differences of ends.
double clock_offset(const StepTimes& first, const StepTimes& other);

/// One step over all ranks, by the clock of the first, since it has begun on the last one: an
/// operation is ready when it is so on the last rank, and starts where the last one has joined it.
StepTimes joint_step(std::span<const StepTimes> ranks);

/// Medians of the joint steps. All ranks have as many.
StepTimes joint_median(std::span<const RankSteps> ranks);

/// For each operation the median of how long the first rank in it waits for the last one.
std::vector<double> waits(std::span<const RankSteps> ranks);

/// For each operation the median of its joint duration: from where the last rank has joined it.
std::vector<double> joint_durations(std::span<const RankSteps> ranks);

struct BucketSchedule {
  std::vector<Seconds> finish;
  /// How long communication goes on after the last bucket is ready, which is when backward ends.
  Seconds exposed;
};

/// The model of buckets for operations that are ready as those of `step`: they go one after the
/// other, in order, none before it is ready: finish_k = max(ready_k, finish_(k-1)) + duration_k.
/// Computing is taken to be no slower for it.
BucketSchedule schedule_of(const StepTimes& step, std::span<const double> durations);

}  // namespace linkgain::test
