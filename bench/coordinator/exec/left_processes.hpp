#pragma once

#include <string>
#include <vector>

#include "linkgain/base/process_entry.hpp"
#include "linkgain/process/process.hpp"

/// What a command leaves in the background when it exits.
namespace linkgain {

/// Finds who of the tree goes on for longer than helpers do after a command that took so many
/// seconds.
std::vector<ProcessEntry> processes_left_by(Process& command, double seconds);

/// Says "left 3 processes, which were ended: python3, sleep".
std::string left_text(const std::vector<ProcessEntry>& left);

inline constexpr const char* kLeftAdvice =
    "work in the background is not in its time: let the command wait for it (wait); start a daemon "
    "before linkgain, a server with --server";

}  // namespace linkgain
