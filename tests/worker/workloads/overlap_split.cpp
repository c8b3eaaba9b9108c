#include "overlap_split.hpp"

#include <algorithm>

namespace linkgain::test {
namespace {

constexpr double kShare = 0.15;
constexpr double kLeast = 0.5e-3;

/// Each rank's own medians, and of these the latest.
StepTimes slowest(const std::vector<RankSteps>& ranks) {
  std::vector<StepTimes> medians;
  for (const RankSteps& each : ranks) medians.push_back(median_step(each));
  return latest(medians);
}

}  // namespace

double OverlapSplit::tolerance() const { return std::max(kShare * predicted, kLeast); }

OverlapSplit split_overlap(const OverlapFindings& findings) {
  const StepTimes without = slowest(findings.without);
  const StepTimes with = joint_median(findings.with);
  const std::vector<double> alone = joint_durations(findings.alone);
  const double with_shift = schedule_of(with, alone).exposed.value;
  const double within = schedule_of(with, joint_durations(findings.with)).exposed.value;
  const double own_end = slowest(findings.with).backward_end();
  const double link_end = with.operations.back().end;

  OverlapSplit split;
  split.predicted = schedule_of(without, alone).exposed.value;
  split.measured = findings.step - findings.step_without;
  split.compute = own_end - without.backward_end();
  split.skew = with.backward_end() - own_end;
  split.shift = with_shift - split.predicted;
  split.reduction = within - with_shift;
  split.link_gaps = link_end - with.backward_end() - within;
  split.resuming = with.resumed - link_end;
  split.update = (with.finish - with.resumed) - (without.finish - without.backward_end());
  split.unseen = split.measured - (with.finish - without.finish);
  return split;
}

std::vector<BucketFinding> bucket_findings(const OverlapFindings& findings) {
  const StepTimes without = slowest(findings.without);
  const StepTimes with = joint_median(findings.with);
  const std::vector<double> alone = joint_durations(findings.alone);
  const std::vector<double> within = joint_durations(findings.with);
  const std::vector<double> waiting = waits(findings.with);
  const BucketSchedule model = schedule_of(without, alone);
  std::vector<BucketFinding> buckets;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const OperationTimes& times = with.operations[i];
    buckets.push_back({.ready_without = without.operations[i].ready,
                       .ready = times.ready,
                       .start = times.start,
                       .end = times.end,
                       .alone = alone[i],
                       .within = within[i],
                       .model_end = model.finish[i].value,
                       .wait = waiting[i]});
  }
  return buckets;
}

}  // namespace linkgain::test
