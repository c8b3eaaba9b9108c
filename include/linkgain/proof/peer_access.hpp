#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/hardware/delivery.hpp"
#include "linkgain/runtime/fault.hpp"
#include "linkgain/runtime/session.hpp"

namespace linkgain {

/// A rung that two ranks climb.
struct PeerRung {
  ProofRung rung = ProofRung::stores;
  /// The ranks' CUDA devices; empty: those that there are in turn, so that both ranks may share
  /// one.
  std::vector<int> gpus{};
  Seconds load_time{};  ///< of ProofRung::load
};

/// CUDA failed to open the other GPU's memory, or an access to memory failed once it was open.
class PeerAccessError : public MachineError {
 public:
  using MachineError::MachineError;
};

/// Proves whether two ranks reach each other's device memory (CUDA IPC), by a rung below NCCL; both
/// must call it, and the answer means something on rank 0 alone. The owner of memory looks at it,
/// or of loads the one who loaded, when the other has said that it is done. `fault` is a test's.
/// Each rank calls `begin` when its GPU is ready and before it opens the other's memory. Throws
/// PeerAccessError where the path is to blame, another Error where this rank cannot, MachineError
/// where the build has no CUDA: the job must then be aborted, as the other rank may wait.
Delivery prove_peer_access(Session& session, const PeerRung& rung,
                           const std::optional<Fault>& fault, const std::function<void()>& begin);

}  // namespace linkgain
