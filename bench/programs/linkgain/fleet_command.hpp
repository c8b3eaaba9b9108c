#pragma once

#include <filesystem>
#include <vector>

#include "linkgain/fleet/fleet.hpp"
#include "output_format.hpp"

namespace linkgain {

struct FleetCommandOptions {
  std::vector<std::filesystem::path> records;  ///< files, or directories with records below them
  OutputFormat format = OutputFormat::table;
  FleetOptions fleet;
};

/// `linkgain fleet`: prints a line for each node. Returns 1 where a node should be drained or is
/// missing or unreadable, else 0; throws UsageError where something named is not there or holds no
/// record.
int fleet_command(const FleetCommandOptions& options);

}  // namespace linkgain
