#pragma once

#include <string>

#include "linkgain/plan/run_plan.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/run/pace.hpp"
#include "linkgain/run/world.hpp"

namespace linkgain {

/// Who is told how far a run is. Nothing needs to be done with any of it.
class RunProgress {
 public:
  virtual ~RunProgress() = default;

  virtual void note(const std::string&) {}  ///< a line that stays
  virtual void starting(const RunPace&) {}  ///< jobs are being started
  /// Says that a case is being measured.
  virtual void measuring(const RunPace&, int /*launch*/, const Case&) {}
  virtual void finished(const RunPace&, int /*launch*/, const CaseResult&) {}
  virtual void waiting(const RunPace&) {}  ///< each second while a job works or starts
};

/// Carries out a plan: jobs, launches, cases. `record` has its settings filled in and, of a run
/// that goes on, the cases as prepare_to_go_on() leaves them; everything measured goes into it as
/// it comes and, case by case, into the journal, so that both hold what was measured when this
/// throws; the record is summarised then, too, and has the wall time of all its parts. Throws
/// Interrupted, and MachineError when no job of the first launch starts.
void run(const RunPlan& plan, RunWorld& world, Record& record, JournalWriter& journal,
         RunProgress& progress);

}  // namespace linkgain
