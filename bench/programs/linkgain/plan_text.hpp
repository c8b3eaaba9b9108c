#pragma once

#include <string>
#include <string_view>

#include "linkgain/plan/run_plan.hpp"

/// What `linkgain run` says instead of measuring.
namespace linkgain {

/// How long the plan takes, budget included: the guess that the progress line begins with. Machines
/// differ by a factor of two or three.
Seconds expected_duration(const RunPlan& plan);

/// The plan of a run here or, where GPUs are asked for and this machine or build has none as on a
/// login node, of one on as many GPUs as --gpus or --np names (2); by srun without an allocation,
/// that of one node. A warning says so. Throws as make_plan().
RunPlan preview_plan(const RunOptions& options, Site site);

/// `--dry-run`: backend, variants with the variables they set, launches, memory, time, cases, and
/// warnings in lines of at most `columns`.
std::string plan_text(const RunPlan& plan, std::size_t columns);

/// `--list`: the names that options of `linkgain run` take.
std::string choices_text();

}  // namespace linkgain
