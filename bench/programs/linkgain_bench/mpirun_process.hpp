#pragma once

#include <string>
#include <vector>

namespace linkgain {

/// Runs mpirun with these arguments and variables, both ended by null. It gets the signals that
/// this program is sent, and ends with it; what it prints goes to standard output. Its status, or
/// 128 and the signal that ended it or this program. Throws MachineError where it cannot be
/// started, UsageError where not all that it printed could be written.
int run_to_end(const std::string& program, const std::vector<char*>& line,
               const std::vector<char*>& variables);

}  // namespace linkgain
