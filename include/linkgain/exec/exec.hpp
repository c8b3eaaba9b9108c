#pragma once

#include <optional>
#include <string>

#include "linkgain/exec/exec_plan.hpp"
#include "linkgain/exec/program_run.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// How far the runs are.
struct ExecPace {
  int step = 0;  ///< runs that are over, warm-up included
  int steps = 0;
  std::optional<double> seconds_left{};  ///< by what those of each variant took, once some did
};

/// Who is told. Nothing needs to be done with any of it.
class ExecObserver {
 public:
  virtual ~ExecObserver() = default;
  virtual void running(const ExecPace&, const RunPlace&) {}  ///< and again each second
  virtual void finished(const ExecPace&, const RunReport&) {}
  virtual void note(const std::string&) {}  ///< a line that stays
};

/// Describes this host and all GPUs that NVML shows, which stand as ranks: rank i is GPU i.
Machine survey_machine();

/// Carries out warm-up runs, the plan's rounds and, where a ratio's interval is wider than was
/// asked for, more: as many as would narrow it by the deviation seen, and no more than twice the
/// plan's in all. That is decided once, so that no look at the outcome decides when to stop. Where
/// the budget ends it, each variant has run equally often and at least once. A variant of which two
/// runs in a row failed is not run again, and without two variants nothing is but the first run of
/// one that had none; nor is anything where as many runs as there are variants gave no number for a
/// metric.
///
/// Fills runs, cases, errors of links, warnings and status of the record, whose settings must be
/// there. Each run's samples go to the journal. Throws what ExecWorld::run() throws; the record
/// then holds what was measured.
void execute(const ExecPlan& plan, ExecWorld& world, Record& record, JournalWriter& journal,
             ExecObserver& observer);

/// Concludes when nothing more is measured: intervals, cases that nothing was measured of,
/// warnings, the path of each variant, the status. Returns the exit code: incomplete where a run
/// failed or gave no number for a metric; wrong path where a variant without P2P used NVLink
/// (judge_exec()).
ExitCode conclude(Record& record);

}  // namespace linkgain
