#pragma once

#include <string>

#include "compared_runs.hpp"

/// Runs before and after a bridge was fitted, of four launches, for tests of what `compare` says.
namespace linkgain::test {

/// Makes a case of four launches around this time.
inline CaseFigures steady(const std::string& name, const std::string& variant, double seconds) {
  return timed(name, variant, launches_around(seconds, 0.005, 4));
}

inline CaseFigures on(Path path, CaseFigures figures) {
  figures.path = path;
  return figures;
}

inline RunFigures before_bridge() {
  RunFigures run = two_titans("before.json", false);
  CaseFigures wrong = steady("send_recv/float32/64MiB/np2", "p2p", 0.01);
  wrong.no_time = "wrong data: 1 of 8 elements";
  run.cases = {on(Path::host_memory, steady(kSmall, "p2p", 20e-6)),
               on(Path::host_memory, steady(kLarge, "p2p", 0.131)),
               on(Path::host_memory, steady(kLarge, "host", 0.131)), wrong,
               steady("all_reduce/float32/sum/2GiB/np2", "host", 0.262)};
  return run;
}

inline RunFigures after_bridge() {
  RunFigures run = two_titans("after.json", true);
  run.started = "2026-11-21T16:40:00Z";
  run.machine.software.driver = "590.2";
  run.cases = {on(Path::nvlink, steady(kSmall, "p2p", 21e-6)),
               on(Path::nvlink, steady(kLarge, "p2p", 0.101)),
               on(Path::host_memory, steady(kLarge, "host", 0.132)),
               on(Path::nvlink, steady("send_recv/float32/64MiB/np2", "p2p", 0.005))};
  return run;
}

/// Has the guide's steps, as its two rows.
inline RunFigures training_run(const std::string& name, bool bridge) {
  constexpr const char* kTraining = "gpt2_step/fp32/gpt2/np2";
  RunFigures run = two_titans(name, bridge);
  run.settings.training = TrainingPlan{};
  const Path path = bridge ? Path::nvlink : Path::host_memory;
  run.cases = {on(path, steady(kTraining, "p2p", bridge ? 0.5095 : 0.6572)),
               on(Path::host_memory, steady(kTraining, "host", 0.6572)),
               steady("gpt2_step/fp32/gpt2/np2/none", "p2p", 0.5),
               on(path, steady(kLarge, "p2p", bridge ? 0.101 : 0.131))};
  for (CaseFigures& figures : run.cases) {
    if (!figures.definition.training) continue;
    figures.busbw.reset();
    figures.algbw.reset();
    figures.training = TrainingResult{.steps = 200, .sum = {}, .last_loss = 7.529};
  }
  return run;
}

}  // namespace linkgain::test
