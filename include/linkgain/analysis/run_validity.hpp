#pragma once

#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// What a finished record says about itself: adds warnings for wrong data, a wrong path, links that
/// other work used, evidence that is missing, GPUs that were throttled, cases that did not
/// converge, variants that took the same path and variables inherited from the caller that affect
/// NCCL. Where nothing was measured of what was asked for, or of one of the operations that were
/// `named`, the status becomes "incomplete". Returns the exit code in this order: incomplete, wrong
/// data, wrong path, unhealthy, success.
///
/// Wrong path, by the links' counters where they may judge, and by NCCL's transport lines or,
/// of our own work, by own_path():
/// - P2P is off (NCCL_P2P_DISABLE=1 in force), and messages went by P2P or bytes over NVLink; or
///   shared memory is off as well, and messages went through host memory;
/// - the variant forces nothing, or asks for P2P of every distance, NVLink joins all ranks between
///   which messages of the case go, nothing of the caller's forbids P2P, and NVLink did not carry
///   the messages;
/// - the variant asks for P2P of every distance, the driver allows it, and it was not used.
/// A variant that forces anything else promises nothing.
///
/// Unhealthy is an exit code only with Settings::require_healthy, and then also where clock events
/// were not measured: such a run cannot be shown to be healthy.
ExitCode judge(Record& record, const std::vector<OperationKind>& named = {});

/// A variable as the variant's worker saw it, else as the variant sets it; empty where it is not
/// set.
std::string variable_of(const Record& record, const std::string& variant,
                        std::string_view variable);

/// Whether NCCL_P2P_DISABLE is on in a variant, whoever set it.
bool is_p2p_off(const Record& record, const std::string& variant);

/// Whether the variants differ in a switch of NCCL's that opens or closes a path. Algorithms and
/// protocols go down whatever path there is.
bool choose_path(const Record& record, const VariantResult& first, const VariantResult& other);

/// Whether two variants of a case are known to have taken the same path.
bool same_path(const VariantResult& a, const VariantResult& b);

}  // namespace linkgain
