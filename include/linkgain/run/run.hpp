#pragma once

#include "linkgain/plan/run_plan.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/run/observer.hpp"
#include "linkgain/run/world.hpp"

namespace linkgain {

/// Carries out a plan: jobs, launches, cases. `record` has its settings filled in and, of a run
/// that goes on, the cases as prepare_to_go_on() leaves them; everything measured goes into it as
/// it comes and, case by case, into the journal, so that both hold what was measured when this
/// throws; the record is summarised then, too, and has the wall time of all its parts. Throws
/// Interrupted, and MachineError when no job of the first launch starts.
void run(const RunPlan& plan, RunWorld& world, Record& record, JournalWriter& journal,
         RunProgress& progress);

}  // namespace linkgain
