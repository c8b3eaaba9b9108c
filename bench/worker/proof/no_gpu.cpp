#include <fmt/format.h>

#include "linkgain/base/build_info.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/proof/peer_writes.hpp"

/// In place of peer_writes.cpp in builds without CUDA.
namespace linkgain {

Delivery prove_peer_writes(Session&, ProofRung, const std::vector<int>&,
                           const std::optional<Fault>&) {
  throw MachineError(fmt::format("this build has no CUDA: {}", build_info().nccl_missing),
                     "install CUDA and NCCL and build again");
}

}  // namespace linkgain
