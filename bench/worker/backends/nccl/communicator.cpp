#include "nccl/communicator.hpp"

#include "nccl/api.hpp"

namespace linkgain {

Communicator make_communicator(Session& session, CommunicatorSettings settings) {
  ncclUniqueId id{};
  if (session.is_root()) check(ncclGetUniqueId(&id));
  session.broadcast(&id, sizeof id);
  ncclComm_t communicator = nullptr;
  ncclConfig_t config = communicator_config(settings);
  check(ncclCommInitRankConfig(&communicator, session.ranks(), id, session.rank(), &config));
  return Communicator(communicator);
}

}  // namespace linkgain
