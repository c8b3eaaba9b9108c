#pragma once

#include <string>
#include <vector>

#include "bench_options.hpp"

namespace linkgain {

/// Becomes an mpirun that starts the ranks asked for of this program on this host, with the same
/// `arguments`, its name first, but for how many there are. Throws UsageError in a job of several
/// ranks, and MachineError where there is no mpirun or, of `auto`, no two GPUs.
[[noreturn]] void start_ranks(const WorkerOptions& options, std::vector<std::string> arguments);

}  // namespace linkgain
