#pragma once

#include <string>
#include <vector>

#include "bench_options.hpp"

namespace linkgain {

/// Has mpirun start the ranks asked for of this program on this host, with the same `arguments`,
/// its name first, but for how many there are, and waits for them; signals go on to mpirun. Returns
/// its status, or 128 and the signal that ended it. Throws UsageError in a job of several ranks and
/// where not all that they print can be written, and MachineError where there is no mpirun or, of
/// `auto`, no two GPUs.
int start_ranks(const WorkerOptions& options, std::vector<std::string> arguments);

}  // namespace linkgain
