#pragma once

#include <memory>
#include <vector>

#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/session.hpp"

namespace linkgain {

/// Returns MPI's own collectives and messages between buffers in CPU memory: a real measurement of
/// what joins the processes, never of GPUs. Times are of the host's clock. `cache` is the
/// processor's largest: buffers rotate through twice as much.
std::unique_ptr<Backend> make_mpi_backend(const Session& session, Bytes cache);

/// Makes NCCL between GPUs, one GPU a rank: rank r takes CUDA device gpus[r], or its place among
/// its host's ranks if `gpus` is empty; that device becomes current. Throws MachineError where
/// there is no such one; connect() throws where the communicator cannot be made. `session` must
/// outlive the backend. Our own kernels wait for other ranks a little less than `timeout`. Only in
/// builds with CUDA and NCCL.
std::unique_ptr<Backend> make_nccl_backend(Session& session, const std::vector<int>& gpus,
                                           CommunicatorSettings settings, Seconds timeout);

/// Fills in the versions of CUDA and NCCL, header and library, and which file that is; if no NCCL
/// can be opened, why.
void describe_nccl(Software& software);

}  // namespace linkgain
