#pragma once

#include <cstdint>
#include <optional>

#include "linkgain/run/run_plan.hpp"

namespace linkgain {

/// Free memory of the GPU that has least of it, of those that the plan uses; absent where it is not
/// known.
std::optional<std::int64_t> free_gpu_memory(const Site& site, const RunPlan& plan);

/// Where not the jobs of all the plan's launches fit at once: how many launches' do, with a warning
/// that says why. A case is open in one job of every variant at a time, and takes `largest_case`
/// bytes there at most. Where processes do not suffice for one job of every variant the plan
/// becomes sequential, unless `paired` was asked for.
void choose_groups(const Site& site, std::int64_t largest_case, bool paired, RunPlan& plan);

}  // namespace linkgain
