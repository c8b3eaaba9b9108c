#pragma once

#include <functional>
#include <memory>

#include "linkgain/record/journal.hpp"
#include "linkgain/run/job.hpp"
#include "linkgain/run/progress.hpp"
#include "linkgain/run/run_plan.hpp"

namespace linkgain {

/// What a run needs of the world; tests give doubles.
struct RunWorld {
  /// Starts the job of a variant for a launch; throws JobLost or MachineError.
  std::function<std::unique_ptr<Job>(int variant, int launch)> start_job;
  /// The road the variant's messages have taken so far in this launch, and take with NCCL's
  /// `algorithm` where it is known (TransferPlan's).
  std::function<Path(int variant, int launch, const protocol::HelloReply& hello,
                     const std::string& algorithm)>
      find_path;
  std::function<Seconds()> clock;  ///< monotonic
};

/// Carries out a plan: jobs, launches, cases. `record` has its settings filled in; everything
/// measured goes into it as it comes and, case by case, into the journal, so that both hold what
/// was measured when this throws. Throws Interrupted, and MachineError when no job of the first
/// launch comes up.
void run(const RunPlan& plan, const RunWorld& world, Record& record, JournalWriter& journal,
         Progress& progress);

}  // namespace linkgain
