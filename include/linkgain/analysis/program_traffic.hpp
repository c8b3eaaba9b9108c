#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "linkgain/record/record.hpp"

/// What NVLink carried while a program of `linkgain exec` ran. All functions take the runs of one
/// variant that count.
namespace linkgain {

/// Below this NVLink counts as unused in a run: set-up, flags and barriers move KiB to some MiB.
inline constexpr std::int64_t kNvlinkFloor = std::int64_t{16} << 20;

/// Gives those of the variant in a record.
std::vector<RunEvidence> counted_runs(const Record& record, const std::string& variant);

/// Finds GPUs on which the driver listed processes of the command; empty where it listed none.
std::set<int> used_gpus(std::span<const RunEvidence> runs);

/// Gives those that the command used in any of its runs, for a short one may end before somebody
/// looks; all that it saw in `run` where that is not known.
std::vector<GpuEvidence> judged_gpus(std::span<const RunEvidence> runs, const RunEvidence& run);

/// What becomes of GPUs that others were on.
enum class SharedGpus { count, leave_out };

/// Says what its GPUs sent in each run in which one had the counter.
std::vector<double> nvlink_bytes_of(std::span<const RunEvidence> runs, SharedGpus shared);

/// Gives the median of these; absent where no GPU had the counter.
std::optional<double> nvlink_bytes_in_a_run(std::span<const RunEvidence> runs);

/// Says "1.21 TB", "0 B".
std::string readable_traffic(double bytes);

/// Gives NVLink where the median run used it, else unknown: what carried the data then is not
/// counted.
Path path_of_program(std::span<const RunEvidence> runs);

}  // namespace linkgain
