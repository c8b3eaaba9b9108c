#pragma once

#include "linkgain/run/run_plan.hpp"

namespace linkgain {

/// Trainings of `plan` whose strategy cannot share the parameters out evenly among its ranks are
/// left out with a warning if only a profile brought their strategy; one that `--strategy` named is
/// refused with UsageError. Both say which ranks would do.
void fit_ranks(const RunOptions& options, RunPlan& plan);

}  // namespace linkgain
