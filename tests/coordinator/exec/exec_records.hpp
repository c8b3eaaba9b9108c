#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/exec/exec.hpp"
#include "linkgain/exec/exec_settings.hpp"
#include "support/program.hpp"

/// Runs of a command that is not there: their times are given.
namespace linkgain::test {

/// What the run of a variant in a round gave.
using RunDouble = std::function<RunReport(const RunPlace& place)>;

inline RunReport report_of(const RunPlace& place, std::map<std::string, MetricValues> values) {
  return {.place = place,
          .values = std::move(values),
          .evidence = {.no_gpus = "no NVIDIA driver"},
          .log = "runs/double.log"};
}

inline MetricValues one_value(double value) { return {.samples = {value}}; }

/// The world of such runs.
struct ExecDouble : ExecWorld {
  explicit ExecDouble(RunDouble what_came) : outcome_of(std::move(what_came)) {}

  RunReport run(const RunPlace& place, const std::function<void()>&) override {
    order.push_back(place);
    return outcome_of(place);
  }
  ErrorCounts error_counts() override { return count ? count(order.size()) : ErrorCounts{}; }
  std::vector<GpuFault> faults() override { return gpu_faults; }

  RunDouble outcome_of;
  std::vector<RunPlace> order;
  /// What counters of errors say after so many runs; where it is not set there are none.
  std::function<ErrorCounts(std::size_t runs)> count;
  std::vector<GpuFault> gpu_faults;
};

/// A record of the plan's runs, concluded.
struct ExecOutcome {
  Record record;
  ExitCode code = ExitCode::success;
  std::vector<RunPlace> order;
};

inline ExecOutcome execute_double(const ExecOptions& options, const ExecPlan& plan,
                                  ExecDouble& world) {
  const ScratchFolder folder;
  ExecOutcome outcome;
  outcome.record.started = "2026-11-20T16:40:00Z";
  outcome.record.machine.host = "node1";
  outcome.record.settings = settings_of(options, plan, {});
  JournalWriter journal(folder.path() / "journal.jsonl");
  ExecObserver nobody;
  execute(plan, world, outcome.record, journal, nobody);
  outcome.order = world.order;
  outcome.record.wall_seconds = 812.4;
  outcome.code = conclude(outcome.record);
  return outcome;
}

inline ExecOutcome execute_double(const ExecOptions& options, const ExecPlan& plan,
                                  const RunDouble& run) {
  ExecDouble world(run);
  return execute_double(options, plan, world);
}

}  // namespace linkgain::test
