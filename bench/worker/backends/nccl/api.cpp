#include "nccl/api.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/errors.hpp"

#ifdef LINKGAIN_HAVE_DEVICE_API
#include "kernels/peer/lsa_pointers.hpp"
#endif

namespace linkgain {
namespace {

std::string describe(ncclResult_t code, const std::source_location& where) {
  const char* last = ncclGetLastError(nullptr);
  const std::string detail = last != nullptr && *last != '\0' ? fmt::format(": {}", last) : "";
  return fmt::format("NCCL: {}{}, at {}", ncclGetErrorString(code), detail, gpu::place_of(where));
}

ncclDataType_t float8_type([[maybe_unused]] DataType type) {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 24, 0)
  return type == DataType::float8e4m3 ? ncclFloat8e4m3 : ncclFloat8e5m2;
#else
  throw MachineError("this NCCL has no float8 types", "build with NCCL 2.24 or later");
#endif
}

constexpr int kFirstWithDeviceApi = 22800;
constexpr int kFirstCompatible = 22900;

}  // namespace

NcclError::NcclError(ncclResult_t code, const std::source_location& where)
    : MachineError(describe(code, where),
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

NcclExchanges nccl_exchanges() {
  NcclExchanges found;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  // Looked up, as the library loaded may be older than the header.
  found.alltoall = reinterpret_cast<decltype(&ncclAlltoAll)>(::dlsym(RTLD_DEFAULT, "ncclAlltoAll"));
  found.gather = reinterpret_cast<decltype(&ncclGather)>(::dlsym(RTLD_DEFAULT, "ncclGather"));
  found.scatter = reinterpret_cast<decltype(&ncclScatter)>(::dlsym(RTLD_DEFAULT, "ncclScatter"));
#endif
  return found.present() ? found : NcclExchanges{};
}

ncclConfig_t communicator_config([[maybe_unused]] CommunicatorSettings settings) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  if (settings == CommunicatorSettings::as_nccl_tests) config.nvlinkCentricSched = 1;
#endif
  return config;
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)

namespace {

/// Looked up, as the library loaded may be older than the header. Null where it lacks them.
auto window_register() {
  return reinterpret_cast<decltype(&ncclCommWindowRegister)>(
      ::dlsym(RTLD_DEFAULT, "ncclCommWindowRegister"));
}

auto window_deregister() {
  return reinterpret_cast<decltype(&ncclCommWindowDeregister)>(
      ::dlsym(RTLD_DEFAULT, "ncclCommWindowDeregister"));
}

}  // namespace

void require_windows() {
  if (window_register() != nullptr && window_deregister() != nullptr) return;
  throw MachineError(
      fmt::format("symmetric buffers need NCCL 2.27, the library is {}", nccl_library_version()),
      "load the NCCL that linkgain was built with, or leave --buffers symmetric out");
}

void* register_window(ncclComm_t communicator, void* memory, Bytes size) {
  ncclWindow_t window = nullptr;
  check(window_register()(communicator, memory, static_cast<std::size_t>(size.value), &window,
                          NCCL_WIN_COLL_SYMMETRIC));
  return window;
}

void deregister_window(ncclComm_t communicator, void* window) noexcept {
  window_deregister()(communicator, static_cast<ncclWindow_t>(window));
}

#else

void require_windows() {
  throw MachineError(
      fmt::format("symmetric buffers need NCCL 2.27, this is {}", nccl_header_version()),
      "build with NCCL 2.27 or later, or leave --buffers symmetric out");
}

void* register_window(ncclComm_t, void*, Bytes) {
  require_windows();
  return nullptr;
}

void deregister_window(ncclComm_t, void*) noexcept {}

#endif

LogSwitch nccl_log_switch() {
  return reinterpret_cast<LogSwitch>(::dlsym(RTLD_DEFAULT, "ncclResetDebugInit"));
}

std::string nccl_version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

std::string nccl_library_version() {
  int version = 0;
  check(ncclGetVersion(&version));
  return nccl_version_text(version);
}

std::string nccl_header_version() { return nccl_version_text(NCCL_VERSION_CODE); }

std::optional<std::string> nccl_library_path() {
  const void* const symbol = ::dlsym(RTLD_DEFAULT, "ncclGetVersion");
  Dl_info found{};
  if (symbol == nullptr || ::dladdr(symbol, &found) == 0) return std::nullopt;
  std::error_code error;
  const auto path = std::filesystem::canonical(found.dli_fname, error);
  if (error || path.filename().string().find("libnccl") == std::string::npos) return std::nullopt;
  return path.string();
}

Communicator make_communicator(Session& session, CommunicatorSettings settings) {
  ncclUniqueId id{};
  if (session.is_root()) check(ncclGetUniqueId(&id));
  session.broadcast(&id, sizeof id);
  ncclComm_t communicator = nullptr;
  ncclConfig_t config = communicator_config(settings);
  check(ncclCommInitRankConfig(&communicator, session.ranks(), id, session.rank(), &config));
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
