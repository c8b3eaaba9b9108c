#include "linkgain/gpu/nccl_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <filesystem>
#include <system_error>
#include <type_traits>
#include <utility>

#include "library_search.hpp"
#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"

namespace linkgain::gpu {
namespace {

constexpr int kOldest = 21900;

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
static_assert(std::is_same_v<NcclExchanges::Alltoall, decltype(&ncclAlltoAll)>);
static_assert(std::is_same_v<NcclExchanges::Rooted, decltype(&ncclGather)>);
static_assert(std::is_same_v<NcclExchanges::Rooted, decltype(&ncclScatter)>);
#endif

constexpr const char* kAdvice =
    "install NCCL 2.19 or later (NVIDIA's package libnccl2, or pip's nvidia-nccl-cu12, "
    "nvidia-nccl-cu13), or name its file in LINKGAIN_NCCL; MPI in CPU memory needs none: "
    "--backend mpi";

/// Returns the file behind a name, with all links followed.
std::string file_of(void* object, const std::string& name) {
  link_map* loaded = nullptr;
  if (dlinfo(object, RTLD_DI_LINKMAP, &loaded) != 0 || loaded == nullptr) return name;
  std::error_code failed;
  const std::filesystem::path path = std::filesystem::canonical(loaded->l_name, failed);
  return failed ? std::string(loaded->l_name) : path.string();
}

void* open(const std::string& name) {
  void* object = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object != nullptr) return object;
  const char* error = dlerror();
  throw MachineError(error != nullptr ? error : name, kAdvice);
}

}  // namespace

void NcclLibrary::Closer::operator()(void* object) const noexcept { dlclose(object); }

NcclLibrary::NcclLibrary(const std::string& name, std::string found_by)
    : object_(open(name)), path_(file_of(object_.get(), name)), found_by_(std::move(found_by)) {
  if (get_version(&version_) != ncclSuccess) {
    throw MachineError(fmt::format("{} does not say its version", path_), kAdvice);
  }
  if (version_ < kOldest) {
    throw MachineError(fmt::format("{} is older than NCCL 2.19 ({})", path_, version_), kAdvice);
  }
}

NcclLibrary::Symbol NcclLibrary::optional(const char* name) const noexcept {
  return {dlsym(object_.get(), name)};
}

NcclLibrary::Symbol NcclLibrary::required(const char* name) const {
  const Symbol found = optional(name);
  if (found.address != nullptr) return found;
  throw MachineError(fmt::format("{} has no {}: it is no NCCL, or a very old one", path_, name),
                     kAdvice);
}

const NcclLibrary& nccl() {
  static const auto* const library = [] {
    std::string reasons;
    for (const LibraryFile& file : nccl_files(current_environment())) {
      try {
        return new NcclLibrary(file.name, file.found_by);
      } catch (const MachineError& error) {
        reasons +=
            fmt::format("{}{} ({})", reasons.empty() ? "" : "; ", error.what(), file.found_by);
      }
    }
    throw MachineError(fmt::format("NCCL could not be loaded: {}", reasons), kAdvice);
  }();
  return *library;
}

}  // namespace linkgain::gpu
