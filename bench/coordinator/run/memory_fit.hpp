#pragma once

#include "linkgain/run/run_plan.hpp"

namespace linkgain {

/// Makes `plan`, with everything else decided, fit into the memory of the GPUs or of the host. A
/// case that one job cannot hold, or that the variants' jobs cannot hold at once where
/// `--schedule paired` asks for that, is left out with a warning if only a profile brought it, else
/// refused: sizes by `--sizes`, trainings by `--only` or any option of theirs. Where no case is
/// left all are refused. Where the jobs do not fit together, they run one after the other, with a
/// warning that names the largest case. Throws UsageError for what it refuses.
void fit_memory(const RunOptions& options, const Site& site, RunPlan& plan);

}  // namespace linkgain
