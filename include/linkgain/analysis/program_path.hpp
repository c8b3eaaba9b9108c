#pragma once

#include <optional>
#include <span>
#include <vector>

#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/evidence.hpp"
#include "linkgain/telemetry/program_traffic.hpp"

/// Which path a program's data took, by the runs of one variant that count.
namespace linkgain {

/// Tells whether the library of no-p2p refused peer access in each run. That NVLink multicast was
/// denied is not enough: a program asks for it that copies otherwise.
bool is_peer_access_refused(std::span<const RunEvidence> runs);

/// What NVLink's counters say of a run.
enum class NvlinkUse {
  unseen,  ///< no use; but a GPU lacks them, or P2P may go past them, as no NVLink joins its GPUs
  little,  ///< next to nothing, but no variant moved more: that may be all its data
  none,    ///< nothing, or next to nothing beside another variant, though an NVLink joins all GPUs
  part,    ///< more than kNvlinkFloor, and less than what another variant moved
  all,     ///< more than kNvlinkFloor, and at least kAllOfTraffic of what any variant moved
};

/// A variant whose runs moved this share of what another one did over NVLink moved all of it.
inline constexpr double kAllOfTraffic = 0.9;

/// All that the path is decided by.
struct PathClues {
  NvlinkUse nvlink = NvlinkUse::unseen;
  std::vector<NcclConnection> connections{};
  EngineChoice engine = EngineChoice::none;
  bool is_peer_access_refused = false;
  /// By NVLink: all pairs that NCCL joined by P2P, or none of them; where its log numbers none, all
  /// pairs of its GPUs. Absent: not known.
  std::optional<bool> is_joined{};
  bool has_unlinked_p2p = false;  ///< NCCL joined a pair by P2P that has no NVLink
};

/// Decides by the first row that fits of the table in docs/exec.md (how the path is verified).
/// Connections by P2P do not count with NvlinkUse::none: NCCL makes more than its calls use.
Path path_by(const PathClues& clues);

/// Tells whether data took P2P on this path, or some of them.
bool has_p2p(Path path);

/// Tells whether data took host memory or the network, and nothing else.
bool is_without_p2p(Path path);

/// Gives path_by() what each run shows; one whose log names nothing has what the others' name. Runs
/// that differ make it mixed, or unknown where one is, but for NVLink that stood still in some
/// alone. `most`: bytes over NVLink in the median run of the variant that moved most.
Path path_of_program(std::span<const RunEvidence> runs, const Machine& machine, double most = 0.0);

}  // namespace linkgain
