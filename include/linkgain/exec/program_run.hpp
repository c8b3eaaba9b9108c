#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/exec/exec_plan.hpp"
#include "linkgain/exec/output_metrics.hpp"
#include "linkgain/process/signals.hpp"

namespace linkgain {

/// What came of one run of the command.
struct RunReport {
  RunPlace place;
  /// Why it does not count: "exit status 1", "no output for 30 s", …; absent where it does.
  std::optional<std::string> failure{};
  /// By name of the metric: the wall time, and what was read from the output. Empty where it
  /// failed.
  std::map<std::string, MetricValues> values{};
  std::vector<std::string> last_lines{};
  std::vector<std::string> notes{};  ///< what else went wrong
  std::filesystem::path log;         ///< its standard output and error, as they came
};

/// Where runs leave what they write, and who is told.
struct RunSurroundings {
  std::filesystem::path folder;  ///< for logs; it exists
  Environment environment;       ///< this program's
  bool show_output = false;      ///< on standard error, as it comes
  std::function<void()> tick{};  ///< called about once a second while a run lasts
};

/// One run: prepare, server, the command itself, the end of both trees, cleanup. The wall time is
/// from just before the command is started to the moment at which the system tells that it exited.
/// Nothing of what a run started is left when it returns or throws. Throws Interrupted, after the
/// cleanup, when the watch caught a signal; UsageError where the log cannot be written.
RunReport run_program(const ExecPlan& plan, const RunPlace& place,
                      const RunSurroundings& surroundings, const SignalWatch& watch);

}  // namespace linkgain
