#pragma once

#include <string>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// Writes the command that measures the same again, for a shell: as it was given, without where
/// results went, and with what was in force by default and is not the default everywhere, inherited
/// variables among it.
std::string repetition(const Record& record);

/// Names a program's run: "vllm Qwen/Qwen3-14B" of a preset with its own client, else by the
/// command that ran, for a shell.
std::string measured_command(const Record& record);

/// Writes "NCCL_ALGO=Ring NCCL_PROTO='^LL'", for a shell.
std::string assignments(const Environment& environment);

}  // namespace linkgain
