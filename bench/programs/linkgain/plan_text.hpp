#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/diagnostics/survey.hpp"
#include "linkgain/hardware/nccl_settings.hpp"
#include "linkgain/hardware/topology.hpp"
#include "linkgain/plan/run_plan.hpp"
#include "linkgain/record/warning.hpp"

/// What `linkgain run` says instead of measuring.
namespace linkgain {

/// Estimates how long the plan takes, budget included: the guess that the progress line begins
/// with. Machines differ by a factor of two or three.
Seconds expected_duration(const RunPlan& plan);

/// Makes the plan of a run here or, where GPUs are asked for and this machine or build has none as
/// on a login node, of one on as many GPUs as --gpus or --np names (2); by srun without an
/// allocation, that of one node. A warning says so. Throws as make_plan().
RunPlan preview_plan(const RunOptions& options, Site site);

/// Finds NCCL's settings of each variant, as a process of these sources would start it.
std::vector<NcclSettings> nccl_settings_of(const std::vector<Variant>& variants,
                                           const SurveySources& sources);

/// Says that the first variant and others take the path through host memory on this machine, so
/// that there will be no ratio, and what the run still gives; absent where NVLink joins GPUs of the
/// plan or not all is known.
std::optional<Warning> same_path_notice(const RunPlan& plan, Topology topology,
                                        const SurveySources& sources);

/// Writes what `--dry-run` prints: backend, variants with the variables they set, launches, memory,
/// time, cases, and warnings in lines of at most `columns`.
std::string plan_text(const RunPlan& plan, std::size_t columns);

/// Writes what `--list` prints: the names that options of `linkgain run` take.
std::string choices_text();

}  // namespace linkgain
