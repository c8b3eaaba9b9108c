#pragma once

#include <optional>
#include <vector>

#include "linkgain/hardware/delivery.hpp"
#include "linkgain/runtime/fault.hpp"
#include "linkgain/runtime/session.hpp"

namespace linkgain {

/// Proves whether what each of two ranks writes into the other's device memory (CUDA IPC) arrives
/// there, by one of the first three rungs; both must call it, and the answer means something on
/// rank 0 alone. The owner reads its own memory when the writer has said that it is done. `gpus`
/// are the ranks' CUDA devices; empty: those that there are in turn, so that both ranks may share
/// one. `fault` is a test's. Throws an Error where this rank cannot, MachineError where the build
/// has no CUDA: the job must then be aborted, as the other rank may wait.
Delivery prove_peer_writes(Session& session, ProofRung rung, const std::vector<int>& gpus,
                           const std::optional<Fault>& fault);

}  // namespace linkgain
