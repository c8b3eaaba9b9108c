#pragma once

#include <nccl.h>

#include <memory>

#include "linkgain/backends/nccl_backend.hpp"
#include "linkgain/runtime/session.hpp"

namespace linkgain {

struct DestroyCommunicator {
  void operator()(ncclComm_t communicator) const noexcept { ncclCommDestroy(communicator); }
};

/// Owns a communicator of NCCL's.
using Communicator = std::unique_ptr<ncclComm, DestroyCommunicator>;

/// Collective: one of all ranks of the session, each on the device that is current to it. Throws
/// NcclError.
Communicator make_communicator(Session& session,
                               CommunicatorSettings settings = CommunicatorSettings::usual);

}  // namespace linkgain
