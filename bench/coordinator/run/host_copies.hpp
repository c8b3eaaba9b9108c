#pragma once

#include <functional>

#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/run/job.hpp"

namespace linkgain {

/// Whether some rank's copies between pinned host memory and its GPU are known.
bool has_host_copies(const Machine& machine);

/// Has all ranks of a job measure them and enters them into the machine, with the PCIe links as
/// they are just after, where that is more than before. Where the job refuses, `warn` is told.
/// Throws JobLost.
void read_host_copies(Job& job, Seconds deadline, Machine& machine,
                      const std::function<void(const Warning&)>& warn);

}  // namespace linkgain
