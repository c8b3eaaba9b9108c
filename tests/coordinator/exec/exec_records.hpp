#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "linkgain/exec/exec.hpp"
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

/// A record of the plan's runs, concluded.
struct ExecOutcome {
  Record record;
  ExitCode code = ExitCode::success;
  std::vector<RunPlace> order;
};

inline ExecOutcome execute_double(const ExecOptions& options, const ExecPlan& plan,
                                  const RunDouble& run) {
  const ScratchFolder folder;
  ExecOutcome outcome;
  outcome.record.started = "2026-11-20T16:40:00Z";
  outcome.record.machine.host = "node1";
  outcome.record.settings = settings_of(options, plan, {});
  JournalWriter journal(folder.path() / "journal.jsonl");
  ExecObserver nobody;
  const auto run_once = [&](const RunPlace& place, const std::function<void()>&) {
    outcome.order.push_back(place);
    return run(place);
  };
  execute(plan, run_once, outcome.record, journal, nobody);
  outcome.record.wall_seconds = 812.4;
  outcome.code = conclude(outcome.record);
  return outcome;
}

}  // namespace linkgain::test
