#pragma once

#include <optional>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// Warns of each variant that took another path than its name promises, by the links' counters
/// where they may judge, and by NCCL's transport lines or, of our own work, by own_path():
/// - P2P is off (NCCL_P2P_DISABLE=1 in force), and messages went by P2P or bytes over NVLink; or
///   shared memory is off as well, and messages went through host memory;
/// - the variant forces nothing, or asks for P2P of every distance, NVLink joins all ranks between
///   which messages of the case go, nothing of the caller's forbids P2P, and NVLink did not carry
///   the messages;
/// - the variant asks for P2P of every distance, the driver allows it, and it was not used.
/// A variant that forces anything else promises nothing.
void judge_paths(Record& record);

/// Warns of links that others used, and of evidence that is missing or cannot be judged; of nothing
/// where MPI carried the messages.
void judge_evidence(Record& record);

/// Tells whether NVML says that NVLink joins every pair of ranks and that they can use P2P.
bool offers_nvlink(const Machine& machine);

/// Tells whether two variants of a case are known to have taken the same path.
bool same_path(const VariantResult& a, const VariantResult& b);

/// Gives the path of our own work, which knows itself whether it reaches other GPUs' memory: then
/// the link between the ranks that the case joins, nvlink or pcie_p2p, mixed where they differ,
/// unknown where the driver did not say or nothing is sent. Absent where the library chose.
std::optional<Path> own_path(const Machine& machine, const Case& c, const Execution& execution);

}  // namespace linkgain
