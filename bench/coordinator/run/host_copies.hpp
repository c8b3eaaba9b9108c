#pragma once

#include "linkgain/base/units.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/jobs/job.hpp"
#include "linkgain/run/progress.hpp"

namespace linkgain {

/// Returns whether some rank's copies between pinned host memory and its GPU are known.
bool has_host_copies(const Machine& machine);

/// Has all ranks of a job measure them and enters them into the machine, with the PCIe links as
/// they are just after, where that is more than before. Where the job refuses, `observer` is told.
/// Throws JobLost.
void read_host_copies(Job& job, Seconds deadline, Machine& machine, RunObserver& observer);

}  // namespace linkgain
