#pragma once

#include <vector>

#include "linkgain/analysis/program_validity.hpp"

namespace linkgain {

/// Tells whether NCCL's log names a connection by P2P in any run.
bool logs_p2p(const ArmEvidence& arm);

/// Warns of paths that are not those that variants ask for, or not known, by NVLink's counters and
/// NCCL's log.
void judge_program_paths(const std::vector<ArmEvidence>& arms, std::vector<Warning>& warnings);

}  // namespace linkgain
