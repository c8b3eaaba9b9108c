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

/// Says what the evidence has against the comparison of every arm with the first; the table of
/// warnings in docs/exec.md says when. NVLink was used where a run moved more than kNvlinkFloor,
/// with P2P off also more than 0.1 % of what an arm with P2P did. Arms moved the same where they
/// differ by at most 1 % of the larger or the largest deviation of a run from its arm's median.
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
/// none of them or there is one GPU; reads settings and machine.
std::optional<Warning> refused_p2p_warning(const Record& record);

/// Warns, before any run as after all, of variables of the caller's, of a file of NCCL's or of the
/// command that take P2P from a variant that should have it; reads settings.
std::vector<Warning> forbidden_p2p_warnings(const Record& record);

/// Warns, for judge(), of what is to be known of a program's runs: what their evidence says against
/// the comparison, why they claim less than their intervals say, or why these are wide.
void judge_program(Record& record);

}  // namespace linkgain
