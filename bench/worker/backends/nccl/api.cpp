#include "nccl/api.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>
#include <string_view>

#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/hardware/nccl_environment.hpp"

#ifdef LINKGAIN_HAVE_DEVICE_API
#include "kernels/peer/lsa_pointers.hpp"
#endif

namespace linkgain {
namespace {

std::string error_text(ncclResult_t code, const std::source_location& where) {
  const char* last = nccl().get_last_error(nullptr);
  const std::string detail = last != nullptr && *last != '\0' ? fmt::format(": {}", last) : "";
  return fmt::format("NCCL: {}{}, at {}", nccl().get_error_string(code), detail,
                     gpu::place_of(where));
}

/// Returns float8 types as nccl.h numbers them from 2.24 on, whatever the header compiled against.
ncclDataType_t float8_type(DataType type) {
  constexpr int kFirst = 22400;
  constexpr int kE4m3 = 10;
  constexpr int kE5m2 = 11;
  if (nccl().version() < kFirst) {
    throw MachineError(
        fmt::format("float8 types need NCCL 2.24, the library is {}", nccl_library_version()),
        "load NCCL 2.24 or later (LINKGAIN_NCCL), or leave float8 types out");
  }
  return static_cast<ncclDataType_t>(type == DataType::float8e4m3 ? kE4m3 : kE5m2);
}

/// What buffers of a kind are called, and the first NCCL with all that they need.
struct BufferNeeds {
  std::string_view name;
  std::string_view since;
  bool present = true;
};

BufferNeeds needs_of(const gpu::NcclLibrary& library, Buffers kind) {
  const bool allocates = library.mem_alloc != nullptr && library.mem_free != nullptr;
  const bool registers = library.comm_register != nullptr && library.comm_deregister != nullptr;
  const bool has_windows =
      library.comm_window_register != nullptr && library.comm_window_deregister != nullptr;
  switch (kind) {
    case Buffers::plain:
      return {};
    case Buffers::allocated:
      return {"allocated", "2.19", allocates};
    case Buffers::registered:
      return {"registered", "2.19", allocates && registers};
    case Buffers::symmetric:
      return {"symmetric", "2.27", allocates && has_windows};
  }
  throw std::logic_error("unhandled kind of buffers");
}

constexpr int kFirstWithDeviceApi = 22800;
constexpr int kFirstCompatible = 22900;

}  // namespace

NcclError::NcclError(ncclResult_t code, const std::source_location& where)
    : MachineError(error_text(code, where),
                   "NCCL's own log beside the record (nccl-*.log) tells more") {}

void check(ncclResult_t status, const std::source_location& where) {
  if (status != ncclSuccess && status != ncclInProgress) throw NcclError(status, where);
}

ncclDataType_t nccl_type(DataType type) {
  switch (type) {
    case DataType::float32:
      return ncclFloat32;
    case DataType::float16:
      return ncclFloat16;
    case DataType::bfloat16:
      return ncclBfloat16;
    case DataType::float64:
      return ncclFloat64;
    case DataType::int8:
      return ncclInt8;
    case DataType::uint8:
      return ncclUint8;
    case DataType::int32:
      return ncclInt32;
    case DataType::uint32:
      return ncclUint32;
    case DataType::int64:
      return ncclInt64;
    case DataType::uint64:
      return ncclUint64;
    case DataType::float8e4m3:
    case DataType::float8e5m2:
      return float8_type(type);
  }
  throw std::logic_error("unhandled data type");
}

std::optional<std::string> WatchedCommunicator::failure() const {
  const ncclComm_t communicator = communicator_;
  ncclResult_t state = ncclSuccess;
  if (communicator == nullptr) return std::nullopt;
  if (nccl().comm_get_async_error(communicator, &state) != ncclSuccess) return std::nullopt;
  if (state == ncclSuccess || state == ncclInProgress) return std::nullopt;
  return fmt::format("NCCL: {} while operations were under way", nccl().get_error_string(state));
}

void WatchedCommunicator::abort() noexcept {
  const ncclComm_t communicator = communicator_.exchange(nullptr);
  if (communicator != nullptr) nccl().comm_abort(communicator);
}

NcclExchanges nccl_exchanges() {
  return nccl().exchanges.present() ? nccl().exchanges : NcclExchanges{};
}

ncclConfig_t communicator_config([[maybe_unused]] CommunicatorSettings settings) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  if (settings == CommunicatorSettings::as_nccl_tests) config.nvlinkCentricSched = 1;
#endif
  return config;
}

void require_buffers(const gpu::NcclLibrary& library, Buffers kind) {
  const BufferNeeds needs = needs_of(library, kind);
  if (needs.present) return;
  throw MachineError(fmt::format("{} buffers need NCCL {}, the library is {}", needs.name,
                                 needs.since, nccl_version_text(library.version())),
                     "load a later NCCL (LINKGAIN_NCCL), or leave --buffers out");
}

void* register_window(ncclComm_t communicator, void* memory, Bytes size) {
  constexpr int kCollectiveSymmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC
  void* window = nullptr;
  check(nccl().comm_window_register(communicator, memory, static_cast<std::size_t>(size.value),
                                    &window, kCollectiveSymmetric));
  return window;
}

void deregister_window(ncclComm_t communicator, void* window) noexcept {
  nccl().comm_window_deregister(communicator, window);
}

std::string nccl_version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

std::string nccl_library_version() { return nccl_version_text(nccl().version()); }

std::string nccl_header_version() { return nccl_version_text(NCCL_VERSION_CODE); }

void describe_nccl_library(Software& software) {
  software.nccl_header = nccl_header_version();
  try {
    software.nccl_library = nccl_library_version();
    software.nccl_path = nccl().path();
    const std::string build = nccl_build_of(nccl().path());
    if (!build.empty()) software.nccl_build = build;
    software.nccl_found_by = nccl().found_by();
  } catch (const MachineError& error) {
    software.nccl_missing = error.what();
  }
}

Communicator make_communicator(Session& session, CommunicatorSettings settings) {
  ncclUniqueId id{};
  if (session.is_root()) check(nccl().get_unique_id(&id));
  session.broadcast(&id, sizeof id);
  ncclComm_t communicator = nullptr;
  ncclConfig_t config = communicator_config(settings);
  check(nccl().comm_init_rank_config(&communicator, session.ranks(), id, session.rank(), &config));
  return Communicator(communicator);
}

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
  return device_api_mismatch(kernels::device_api_version(), nccl().version());
}

void require_lsa_team(ncclComm_t communicator, int ranks, int rank) {
  kernels::LsaTeam team;
  const auto status = static_cast<ncclResult_t>(
      kernels::find_lsa_team(communicator, nccl().dev_comm_create, nccl().dev_comm_destroy, team));
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
