#include "linkgain/backends/registry.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "backends.hpp"
#include "linkgain/base/build_info.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/runtime/mpi_library.hpp"

#ifdef LINKGAIN_HAVE_NCCL
#include "linkgain/gpu/device.hpp"
#endif

namespace linkgain {
namespace {

#ifdef LINKGAIN_HAVE_NCCL
std::unique_ptr<Backend> make_nccl(Session& session, const BackendOptions& options) {
  return make_nccl_backend(session, options.gpus, options.settings, options.timeout);
}
#else
std::unique_ptr<Backend> make_nccl(Session&, const BackendOptions&) { return nullptr; }
#endif

}  // namespace

void require_built(BackendKind kind) {
  if (kind == BackendKind::mpi) mpi();
  if (kind != BackendKind::nccl || build_info().has_nccl) return;
  throw MachineError(fmt::format("this build has no nccl backend: {}", build_info().nccl_missing),
                     "install CUDA and NCCL and build again, or measure MPI in CPU memory with "
                     "--backend mpi");
}

std::unique_ptr<Backend> make_backend(BackendKind kind, Session& session,
                                      const BackendOptions& options) {
  require_built(kind);
  switch (kind) {
    case BackendKind::nccl:
      return make_nccl(session, options);
    case BackendKind::mpi:
      return make_mpi_backend(session, options.cache);
    case BackendKind::exec:
      break;  // programs of others need none
  }
  throw std::logic_error("unhandled backend");
}

void describe_gpus([[maybe_unused]] Machine& machine) {
#ifdef LINKGAIN_HAVE_NCCL
  describe_nccl(machine.software);
  for (const GpuInfo& info : gpu::visible_gpus()) {
    RankInfo rank;
    rank.rank = info.cuda_index;
    rank.host = machine.host;
    rank.gpu = info;
    machine.ranks.push_back(rank);
  }
#endif
}

void load_gpu_links([[maybe_unused]] Seconds time) {
#ifdef LINKGAIN_HAVE_NCCL
  if (gpu::load_links(time) == 0) throw MachineError("CUDA shows no GPU", "check nvidia-smi -L");
#else
  throw MachineError(fmt::format("this build has no CUDA: {}", build_info().nccl_missing),
                     "install CUDA and NCCL and build again");
#endif
}

std::vector<PeerCopy> copy_between_gpus() {
#ifdef LINKGAIN_HAVE_NCCL
  return gpu::measure_peer_copies();
#else
  return {};
#endif
}

}  // namespace linkgain
