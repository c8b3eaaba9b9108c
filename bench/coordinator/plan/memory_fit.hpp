#pragma once

#include <cstdint>

#include "linkgain/cases/case.hpp"
#include "linkgain/plan/run_plan.hpp"
#include "linkgain/plan/site.hpp"

namespace linkgain {

/// Returns the bytes of one job with this case. Ranks on several hosts share them evenly.
std::int64_t job_bytes(const Case& c, BackendKind backend, int hosts);

/// Makes `plan`, with everything else decided, fit into the memory of the GPUs or of the host. A
/// case that one job cannot hold, or that the variants' jobs cannot hold at once where
/// `--schedule paired` asks for that, is left out with a warning if only a profile brought it, else
/// refused: sizes by `--sizes`, trainings by `--only` or any option of theirs. Where no case is
/// left all are refused. Where the jobs do not fit together, they run one after the other, with a
/// warning that names the largest case; where only the launches' do not, the launches run in
/// groups. Throws UsageError for what it refuses.
void fit_memory(const RunOptions& options, const Site& site, RunPlan& plan);

}  // namespace linkgain
