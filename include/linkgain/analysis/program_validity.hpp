#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/analysis/program_paths.hpp"
#include "linkgain/record/evidence.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// Lists those of a record of `linkgain exec`, by its variants; of an axis's value, "LOAD=8", only
/// the runs at that.
std::vector<ArmEvidence> arms_of(const Record& record, const std::optional<std::string>& at = {});

/// Says what the evidence has against the comparison of every arm with the first. Bytes are those
/// over NVLink, nvlink_bytes_in_a_run():
///
/// | code                  | where                                                                |
/// | --------------------- | -------------------------------------------------------------------- |
/// | exec-path             | P2P is off, and yet in any run more than kNvlinkFloor and more than  |
/// |                       | 0.1 % of what an arm with P2P moved went over NVLink, by GPUs on     |
/// |                       | which nobody else was seen in that run; or NCCL's log says P2P, NVLS |
/// | exec-no-change        | P2P is off in one of two arms, and both moved more than the floor    |
/// |                       | (without P2P in every run) and the same: they differ by no more than |
/// |                       | the largest deviation of a run from its arm's median (at most half   |
/// |                       | of the larger) or 1 % of it; or both took one path by NCCL's log,    |
/// |                       | host memory or network; or what is to take P2P from an arm that is   |
/// |                       | not seen over NVLink does not reach it: a variable of NCCL's an      |
/// |                       | engine that bypasses_nccl(), no-p2p's library that is not known to   |
/// |                       | have refused peer access                                             |
/// | exec-same-bytes       | P2P is allowed in both, one is_like_first, and both moved more than  |
/// |                       | the floor and the same: no fault, variants need not choose a path    |
/// | exec-no-nvlink        | P2P is allowed and the floor was not reached, nor does NCCL's log    |
/// |                       | say PCIe P2P; or it says anything else, or several paths             |
/// | exec-unseen           | NVLink traffic of an arm was not measured, on one of its GPUs or     |
/// |                       | all, or no NVLink joins its GPUs, and NCCL's log does not say which  |
/// |                       | path it took                                                         |
/// | exec-neighbours       | others were on the GPUs; also where only their GPUs make an          |
/// |                       | exec-path                                                            |
/// | exec-others-unknown   | whether others were on the GPUs is not known                         |
/// | exec-throttled        | a GPU was throttled, other than by its power limit                   |
/// | exec-power-capped     | shares of samples at the power limit differ by more than 0.1         |
/// | exec-nccl-differs     | arms had other NCCL libraries though neither names one               |
/// | exec-nccl-not-replaced| a variant names a library, and another one was mapped                |
/// | exec-no-nccl          | processes were looked at and none had NCCL mapped                    |
///
/// `idle`: ProgramWatch::watch_idle() before the first run. `by_value`: on an axis the arms at each
/// of its values, by which paths are judged.
std::vector<Warning> judge_exec(const std::vector<ArmEvidence>& arms,
                                const std::vector<GpuNeighbour>& idle,
                                const std::vector<std::vector<ArmEvidence>>& by_value = {});

/// Tells whether the case is the time from a server's start to its being ready.
bool is_start_up(const Case& definition);

/// Tells whether the case's interval decides how many rounds there are: of metrics that were asked
/// for each does, and the time, which is always there, where none was.
bool decides_rounds(const Record& record, const Case& definition);

/// Warns, before any run as after all, of variants that part by P2P where the driver allows it to
/// none of them; reads settings and machine.
std::optional<Warning> refused_p2p_warning(const Record& record);

/// Warns, before any run as after all, of variables of the caller's, of a file of NCCL's or of the
/// command that take P2P from a variant that should have it; reads settings.
std::vector<Warning> forbidden_p2p_warnings(const Record& record);

/// Warns, for judge(), of what is to be known of a program's runs: what their evidence says against
/// the comparison, why they claim less than their intervals say, or why these are wide.
void judge_program(Record& record);

}  // namespace linkgain
