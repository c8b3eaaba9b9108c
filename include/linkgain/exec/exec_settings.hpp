#pragma once

#include <string>

#include "linkgain/base/environment.hpp"
#include "linkgain/exec/exec_plan.hpp"
#include "linkgain/record/record.hpp"

/// What is said of a plan before it is carried out. Secrets are masked.
namespace linkgain {

/// Makes the settings of the record.
Settings settings_of(const ExecOptions& options, const ExecPlan& plan,
                     const Environment& environment);

/// Begins the record: when, on which machine, with which settings.
Record begin_record(const ExecOptions& options, const ExecPlan& plan,
                    const Environment& environment);

/// Writes, for `--dry-run`, for each run, in order, what it would start, quoted for a shell that
/// has `environment`.
std::string dry_run_text(const ExecPlan& plan, const Environment& environment);

}  // namespace linkgain
