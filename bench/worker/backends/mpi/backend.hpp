#pragma once

#include <memory>

#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/session.hpp"

namespace linkgain {

/// Returns MPI's own collectives and messages between buffers in CPU memory: a real measurement of
/// what joins the processes, never of GPUs. Times are of the host's clock. `cache` is the
/// processor's largest: buffers rotate through twice as much.
std::unique_ptr<Backend> make_mpi_backend(const Session& session, Bytes cache);

}  // namespace linkgain
