// What stands for MPI in a build without it.
#include <fmt/format.h>

#include <stdexcept>

#include "linkgain/base/errors.hpp"
#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/session.hpp"

namespace linkgain {

std::unique_ptr<Ranks> join_by_mpi(int& /*argc*/, char**& /*argv*/) {
  const int ranks = ranks_of_launcher();
  if (ranks < 2) return join_alone();
  throw MachineError(
      fmt::format("a launcher started {} ranks, and this linkgain-bench has no MPI: each would "
                  "measure alone",
                  ranks),
      "use the .deb or the archive of linkgain, which have MPI; on one host linkgain-bench starts "
      "its ranks itself (--np, -g)");
}

std::string mpi_library() { return {}; }

std::unique_ptr<Backend> make_mpi_backend(const Session& session, Bytes cache);
std::unique_ptr<Backend> make_mpi_backend(const Session& /*session*/, Bytes /*cache*/) {
  throw std::logic_error("no mpi backend");  // require_built() has said so
}

}  // namespace linkgain
