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

/// Gives those of the variant in a record, and those alone at a place on the run's axis.
std::vector<RunEvidence> counted_runs(const Record& record, const std::string& variant);
std::vector<RunEvidence> counted_runs(const Record& record, const std::string& variant,
                                      const std::string& at);

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

/// Gives same_for_all_pairs() of the judged_gpus() of the runs.
std::optional<bool> same_for_used_pairs(const Machine& machine, std::span<const RunEvidence> runs,
                                        PairQuestion what);

/// Lists NCCL's connections in any of the runs, each once.
std::vector<NcclConnection> connections_of(std::span<const RunEvidence> runs);

/// Lists what engines said of their all-reduce in any of the runs, each once.
std::set<std::string> engines_of(std::span<const RunEvidence> runs);

/// What engines say of who moves their data; where they say several things the last one counts.
enum class EngineChoice {
  none,         ///< no engine spoke
  unsaid,       ///< one did, and not of what it has beside NCCL
  nccl,         ///< NCCL alone
  no_nccl,      ///< it has no NCCL
  host_memory,  ///< all-reduce kernels of its own that go through host memory
  own_kernels,  ///< all-reduce kernels of its own, of which NCCL's log knows nothing
  copies,       ///< copies of its own
};
EngineChoice engine_choice(std::span<const RunEvidence> runs);

/// Tells whether what moves the data is none of NCCL's, so that no variable of NCCL's reaches it.
bool bypasses_nccl(EngineChoice choice);

/// Lists what NCCL's log said of algorithms in any of the runs, each once.
std::set<std::string> algorithms_of(std::span<const RunEvidence> runs);

/// Says "P2P/CUMEM"; of several transports or pairs between which GPUs, "P2P/CUMEM (0-1),
/// SHM/direct/direct (1-2, 2->3)"; of very many how many more there are.
std::string readable_connections(const std::vector<NcclConnection>& connections);

/// Tells whether runs `with` P2P moved data over NVLink and none of those `without` did, by its
/// counters.
bool is_nvlink_parted(std::span<const RunEvidence> with, std::span<const RunEvidence> without);

}  // namespace linkgain
