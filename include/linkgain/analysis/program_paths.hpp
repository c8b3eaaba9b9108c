#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/evidence.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// The runs of one variant of a command that count; on an axis those at one of its values.
struct ArmEvidence {
  std::string variant;  ///< with the axis's value, "host at LOAD=8"
  /// "NCCL_P2P_DISABLE=1", in force whoever set it: it forbids P2P; empty where nothing does.
  std::string forbidding{};
  std::string nccl{};  ///< file of an NCCL of its own, which the variant names
  /// It asks for the GPUs and the NCCL of the first arm, and no metric is shown to differ from it.
  bool is_like_first = false;
  std::optional<bool> is_joined{};  ///< by NVLink: all its GPUs, or none; absent: not known
  std::vector<RunEvidence> runs{};
  Path path = Path::unknown;  ///< path_of_program()
  bool is_refused = false;    ///< the driver allows P2P between none of its GPUs

  bool p2p_off() const { return !forbidding.empty(); }
};

/// Tells whether NCCL's log names a connection by P2P, or NVLink multicast, in any run.
bool logs_p2p(const ArmEvidence& arm);

/// Warns of paths that are not those that variants ask for, by NVLink's counters and NCCL's log.
/// On an axis the arms are those at one of its values: what moves at another one is no excuse.
void judge_program_paths(const std::vector<ArmEvidence>& arms, std::vector<Warning>& warnings);

/// Warns of arms whose NVLink traffic is not known, whatever the axis's value.
void judge_unseen(const std::vector<ArmEvidence>& arms, std::vector<Warning>& warnings);

}  // namespace linkgain
