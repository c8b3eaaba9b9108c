#pragma once

#include <memory>
#include <vector>

#include "linkgain/hardware/peer_copies.hpp"
#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/session.hpp"

namespace linkgain {

/// What the kinds of backends take, see there: `gpus`, `settings` and `timeout` nccl,
/// `cache` mpi.
struct BackendOptions {
  std::vector<int> gpus;
  CommunicatorSettings settings = CommunicatorSettings::usual;
  Bytes cache{};
  Seconds timeout{};
};

/// Throws MachineError where this build has no backend of that kind, or Open MPI cannot be loaded
/// for its one.
void require_built(BackendKind kind);

/// Makes the backend of that kind on this rank; local to the rank. Throws MachineError where this
/// build has none or the rank has no device.
std::unique_ptr<Backend> make_backend(BackendKind kind, Session& session,
                                      const BackendOptions& options);

/// Adds CUDA, NCCL and the GPUs that CUDA shows to this process; nothing if the build has no nccl
/// backend or there is no driver. For `--describe`.
void describe_gpus(Machine& machine);

/// Keeps the PCIe links of every GPU that CUDA shows to this process at work for about that long.
/// For `--load`. Throws MachineError where there is none or the build has no CUDA.
void load_gpu_links(Seconds time);

/// Measures what copies between the visible GPUs reach, if they reach each other's memory; nothing
/// where the build has no CUDA.
std::vector<PeerCopy> copy_between_gpus();

}  // namespace linkgain
