#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "linkgain/plan/site.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// Returns the free memory of the GPU that has least of it, of those that `ranks` ranks use:
/// `gpus`, or the first ones if none are named; nothing if it is not known.
std::optional<std::int64_t> free_gpu_memory(const Site& site, const std::vector<int>& gpus,
                                            int ranks);

/// Jobs that should be up at once.
struct JobNeeds {
  int launches = 1;
  int variants = 2;
  int ranks = 2;  ///< of a job, on one host
  BackendKind backend = BackendKind::nccl;
  std::optional<std::int64_t> free_gpu_memory;  ///< in bytes, as free_gpu_memory() gives it
  std::int64_t largest_case = 0;  ///< bytes of the one case that one job of every variant has open
  bool may_be_sequential = true;  ///< `--schedule paired` was not asked for
  std::optional<int> jobs_in_budget{};  ///< that it leaves the time to start together
};

/// How they can be.
struct LaunchGroups {
  bool sequential = false;         ///< not even one job of every variant may be started
  std::optional<int> launches;     ///< that are up at once; absent: all
  std::optional<Warning> warning;  ///< why not all are
};

LaunchGroups launch_groups(const Site& site, const JobNeeds& needs);

}  // namespace linkgain
