#pragma once

#include <filesystem>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"

namespace linkgain {

/// The records that a command was given by name: files, journals or runs' directories. Throws
/// UsageError where one cannot be read.
std::vector<NamedRecord> read_named_records(const std::vector<std::filesystem::path>& paths);

}  // namespace linkgain
