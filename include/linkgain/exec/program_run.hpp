#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/exec/exec_plan.hpp"
#include "linkgain/hardware/neighbours.hpp"
#include "linkgain/patterns/output_metrics.hpp"
#include "linkgain/process/job_reaper.hpp"
#include "linkgain/process/signals.hpp"
#include "linkgain/record/evidence.hpp"
#include "linkgain/telemetry/error_counters.hpp"
#include "linkgain/telemetry/nccl_log.hpp"

namespace linkgain {

/// What came of one run of the command. Secrets are masked in all that it says.
struct RunReport {
  RunPlace place;
  /// Why it does not count: "exit status 1", "no output for 30 s", …; absent where it does.
  std::optional<std::string> failure{};
  std::string advice{};  ///< what to do about that; empty: what its log says
  /// By name of the metric: the wall time, and what was read from the output. Empty where it
  /// failed.
  std::map<std::string, MetricValues> values{};
  std::vector<std::string> last_lines{};  ///< of `log`, where secrets stand as they came
  bool lines_shown = false;               ///< as they came
  std::vector<std::string> notes{};       ///< what else went wrong
  std::vector<std::string> hang{};        ///< where it passed a limit: who of it hung, a line each
  RunEvidence evidence{};                 ///< what was seen of it from outside
  /// Why logs that the run was to have, NCCL's or that of no-p2p's library, did not come.
  std::vector<std::string> missing_logs{};
  /// What its program had of the variables that variants set: empty values of its own variant's
  /// that did not reach it. Absent where none of its processes was seen.
  std::optional<Environment> received{};
  Seconds waited{};  ///< for how long it waited for its output to be read
  /// Standard output and error, as they came: the command's, or those of a server that failed.
  std::filesystem::path log{};
};

/// What the runs of a command need of the world; tests give doubles.
class ExecWorld {
 public:
  virtual ~ExecWorld() = default;

  /// Runs the command once. `tick` is called about once a second meanwhile. Throws Interrupted.
  virtual RunReport run(const RunPlace& place, const std::function<void()>& tick) = 0;
  /// Says what counters of errors say of the GPUs that any variant sees; Xid errors count from a
  /// moment before the first run on. Between runs only.
  virtual ErrorCounts error_counts() { return {}; }
  /// Says what is wrong with those GPUs, of Xid errors only those since then.
  virtual std::vector<GpuFault> faults() { return {}; }
};

/// Where runs leave what they write.
struct RunSurroundings {
  /// Where the log of that name is to be written, which it notes.
  std::function<std::filesystem::path(const std::string& name)> log;
  /// Where NCCL is to log in the run of that name, which it notes.
  std::function<NcclLogFiles(const std::string& name)> nccl_logs;
  Environment environment;   ///< this program's
  bool show_output = false;  ///< on standard error, as it comes
};

class ProgramWatch;

/// Runs a command, once for each call, and watches what it does to the GPUs.
class ProgramRunner : public ExecWorld {
 public:
  /// Takes what must outlive it.
  ProgramRunner(const ExecPlan& plan, const RunSurroundings& surroundings,
                const SignalWatch& watch);
  ~ProgramRunner() override;
  ProgramRunner(const ProgramRunner&) = delete;
  ProgramRunner& operator=(const ProgramRunner&) = delete;

  /// Watches what others do on the GPUs, for a second before the first run.
  std::vector<GpuNeighbour> watch_idle() const;

  /// Goes through prepare, server, the command itself, the end of both trees, and cleanup. The wall
  /// time is from just before the command is started to the moment at which the system tells that
  /// it exited, as by ExitClock. Nothing of what was started is left when it returns or throws.
  /// Throws Interrupted, after the cleanup, when a signal was caught, but returns what it measured
  /// where that came during the cleanup. Where the log cannot be written the run failed.
  RunReport run(const RunPlace& place, const std::function<void()>& tick) override;
  ErrorCounts error_counts() override;
  std::vector<GpuFault> faults() override;

 private:
  const ExecPlan& plan_;
  const RunSurroundings& surroundings_;
  const SignalWatch& watch_;
  KnownSecrets secrets_;
  JobReaper reaper_;
  std::unique_ptr<ProgramWatch> gpus_;
};

}  // namespace linkgain
