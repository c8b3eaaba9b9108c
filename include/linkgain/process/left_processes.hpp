#pragma once

#include <vector>

#include "linkgain/base/process_entry.hpp"
#include "linkgain/process/process.hpp"

/// What a command leaves in the background when it exits.
namespace linkgain {

/// Finds who of the tree goes on for longer than helpers do after a command that took so many
/// seconds.
std::vector<ProcessEntry> processes_left_by(Process& command, double seconds);

}  // namespace linkgain
