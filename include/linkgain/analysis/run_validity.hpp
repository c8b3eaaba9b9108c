#pragma once

#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// Derives all that a record says of itself, when its run is over and whenever it is read: what
/// summarise() and note_exposed_communication() do, the warnings of WarningOrigin::derived, the
/// status and the exit code. What the record said of these does not count, but for the status that
/// a signal gave. Of a run whose journal alone is there nothing is said to be missing.
///
/// Where nothing was measured of what was asked for, or of one of the operations that were `named`,
/// data were not verified, or runs of a program failed, the status becomes "incomplete". Returns
/// the exit code in this order: incomplete, wrong data, wrong path, unhealthy, success.
///
/// Unhealthy is an exit code only with Settings::require_healthy, and then also where clock events
/// were not measured: such a run cannot be shown to be healthy.
ExitCode judge(Record& record, const std::vector<OperationKind>& named = {});

/// Adds the warning inherited-variable for variables of the caller's that affect NCCL, as judge()
/// does.
void warn_of_inherited(Record& record);

}  // namespace linkgain
