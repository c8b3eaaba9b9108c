#pragma once

#include <vector>

#include "step_times.hpp"

namespace linkgain::test {

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
  /// 15 % of what is predicted, or 0.5 ms where that is more.
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

}  // namespace linkgain::test
