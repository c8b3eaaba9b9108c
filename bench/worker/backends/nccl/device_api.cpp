#include "nccl/device_api.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>

#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/errors.hpp"
#include "nccl/api.hpp"

#ifdef LINKGAIN_HAVE_DEVICE_API
#include "kernels/peer/lsa_pointers.hpp"
#endif

namespace linkgain {
namespace {

constexpr int kFirstWithDeviceApi = 22800;
constexpr int kFirstCompatible = 22900;

}  // namespace

std::optional<std::string> device_api_mismatch(int compiled, int loaded) {
  if (loaded < kFirstWithDeviceApi) {
    return fmt::format("NCCL {} has no device API", nccl_version_text(loaded));
  }
  const bool fits = compiled < kFirstCompatible ? loaded == compiled : loaded >= compiled;
  if (fits) return std::nullopt;
  return fmt::format("the device API is built for NCCL {}, the library is {}",
                     nccl_version_text(compiled), nccl_version_text(loaded));
}

#ifdef LINKGAIN_HAVE_DEVICE_API

std::optional<std::string> device_api_problem() {
  int loaded = 0;
  check(ncclGetVersion(&loaded));
  return device_api_mismatch(kernels::device_api_version(), loaded);
}

void require_lsa_team(ncclComm_t communicator, int ranks, int rank) {
  kernels::LsaTeam team;
  const auto status = static_cast<ncclResult_t>(kernels::find_lsa_team(communicator, team));
  if (status == ncclInvalidUsage) throw MachineError("NCCL has no symmetric memory here");
  check(status);
  if (team.ranks != ranks || team.rank != rank) {
    throw MachineError(fmt::format("NCCL's LSA team has {} of {} ranks", team.ranks, ranks));
  }
}

std::vector<void*> lsa_pointers(void* window, int ranks, const gpu::Stream& stream) {
  std::vector<void*> pointers(static_cast<std::size_t>(ranks));
  const std::size_t bytes = pointers.size() * sizeof(void*);
  const gpu::DeviceBuffer written(Bytes{static_cast<std::int64_t>(bytes)});
  gpu::check(kernels::write_lsa_pointers(static_cast<ncclWindow_t>(window), ranks,
                                         static_cast<void**>(written.data()), stream.get()));
  gpu::check(cudaMemcpyAsync(pointers.data(), written.data(), bytes, cudaMemcpyDeviceToHost,
                             stream.get()));
  stream.synchronize();
  return pointers;
}

#else

std::optional<std::string> device_api_problem() { return "built without NCCL's device API"; }

void require_lsa_team(ncclComm_t, int, int) { throw std::logic_error("no device API"); }

std::vector<void*> lsa_pointers(void*, int, const gpu::Stream&) {
  throw std::logic_error("no device API");
}

#endif

}  // namespace linkgain
