#pragma once

#include "linkgain/run/run_plan.hpp"

namespace linkgain {

/// `linkgain run`: measures, prints the table, writes the files. Returns the exit status, which may
/// be that of a signal. Throws what a run that cannot start throws: UsageError and MachineError.
int run_command(const RunOptions& options);

}  // namespace linkgain
