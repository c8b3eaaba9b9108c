#pragma once

#include <memory>
#include <vector>

#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/session.hpp"

namespace linkgain {

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
