#include <fmt/format.h>

#include "linkgain/base/build_info.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/proof/peer_access.hpp"

/// In place of peer_access.cpp in builds without CUDA.
namespace linkgain {

Delivery prove_peer_access(Session&, const PeerRung&, const std::optional<Fault>&,
                           const std::function<void()>&) {
  throw MachineError(fmt::format("this build has no CUDA: {}", build_info().nccl_missing),
                     "install CUDA and NCCL and build again");
}

}  // namespace linkgain
