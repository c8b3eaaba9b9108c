#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/cases/backend.hpp"
#include "linkgain/cases/selection.hpp"
#include "linkgain/hardware/delivery.hpp"
#include "linkgain/nccl_tests/nccl_tests.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// --np: a number, or absent for `auto`.
using RanksToStart = std::optional<int>;

/// linkgain-bench's command line.
struct WorkerOptions {
  enum class Mode { benchmark, nccl_tests, serve, describe, load, prove, text };
  Mode mode = Mode::benchmark;
  std::string text;               ///< of Mode::text
  Seconds load_time{};            ///< of Mode::load
  std::optional<ProofRung> rung;  ///< of Mode::prove
  /// Ranks of itself that are to be started before anything else; absent: none.
  std::optional<RanksToStart> ranks_to_start;
  BackendKind backend = BackendKind::nccl;
  std::vector<int> gpus;
  Selection selection;
  Seconds sample_target = kDefaultSampleTarget;
  Seconds timeout = kUsualTimeout;  ///< of a command, beyond what it is expected to take; 0: none
  TrainingPlan training;
  NcclTestsOptions nccl_tests;                   ///< of Mode::nccl_tests
  std::vector<std::string> benchmark_arguments;  ///< `--benchmark_*`, as given
};

/// Throws UsageError.
WorkerOptions parse_worker_options(int argc, const char* const* argv);

}  // namespace linkgain
