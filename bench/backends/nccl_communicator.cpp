#include "nccl_communicator.hpp"

#include "nccl_api.hpp"

namespace linkgain {

Communicator make_communicator(Session& session) {
  ncclUniqueId id{};
  if (session.is_root()) check(ncclGetUniqueId(&id));
  session.broadcast(&id, sizeof id);
  ncclComm_t communicator = nullptr;
  check(ncclCommInitRank(&communicator, session.ranks(), id, session.rank()));
  return Communicator(communicator);
}

}  // namespace linkgain
