#pragma once

#include <optional>
#include <span>
#include <vector>

#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/evidence.hpp"

/// Which path a program's data took, by the runs of one variant that count.
namespace linkgain {

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
  std::optional<bool> is_joined{};  ///< by NVLink: all its GPUs, or none; absent: not known
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
