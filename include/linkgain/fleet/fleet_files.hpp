#pragma once

#include <filesystem>
#include <vector>

#include "linkgain/fleet/fleet_record.hpp"

namespace linkgain {

/// Files that may be records, sorted: those named, and of each directory all below it that end in
/// .json, and journals beside which there is no record yet. Links to directories are not followed.
/// Throws UsageError where something named is not there.
std::vector<std::filesystem::path> find_fleet_files(
    const std::vector<std::filesystem::path>& named);

/// Reads every file by `threads` threads (0: as many as there are CPUs, 16 at most). A file that
/// cannot be read costs only itself.
std::vector<FleetRecord> read_fleet(const std::vector<std::filesystem::path>& files,
                                    FleetNames& names, int threads = 0);

}  // namespace linkgain
