#pragma once

#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// Says what a finished record says about itself: adds warnings for wrong data, a wrong path, links
/// that other work used, evidence that is missing, GPUs that were throttled, cases that did not
/// converge, variants that took the same path and variables inherited from the caller that affect
/// NCCL. Where nothing was measured of what was asked for, or of one of the operations that were
/// `named`, or data were not verified, the status becomes "incomplete". Returns the exit code in
/// this order: incomplete, wrong data, wrong path, unhealthy, success.
///
/// Unhealthy is an exit code only with Settings::require_healthy, and then also where clock events
/// were not measured: such a run cannot be shown to be healthy.
ExitCode judge(Record& record, const std::vector<OperationKind>& named = {});

/// Adds the warning inherited-variable for variables of the caller's that affect NCCL, as judge()
/// does.
void warn_of_inherited(Record& record);

/// Adds the warning link-errors where a counter of errors grew, as judge() does.
void warn_of_link_errors(Record& record);

}  // namespace linkgain
