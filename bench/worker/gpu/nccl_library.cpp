#include "linkgain/gpu/nccl_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <system_error>
#include <type_traits>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/telemetry/host.hpp"

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

using std::filesystem::path;

bool is_there(const path& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored);
}

/// Sorts "python3.12" before "python3.9".
bool is_later(const path& a, const path& b) {
  const std::string first = a.filename().string();
  const std::string second = b.filename().string();
  return first.size() != second.size() ? first.size() > second.size() : first > second;
}

std::vector<path> folders_of_python(const path& library) {
  std::vector<path> folders;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(library, ignored)) {
    if (entry.path().filename().string().starts_with("python3")) folders.push_back(entry.path());
  }
  std::ranges::sort(folders, is_later);
  return folders;
}

/// Returns folders that hold those of Python's versions.
std::vector<path> library_folders(const Environment& environment, const path& root) {
  std::vector<path> folders;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string prefix = value_of(environment, name);
    if (!prefix.empty()) folders.push_back(path(prefix) / "lib");
  }
  std::error_code ignored;
  const path program = std::filesystem::read_symlink(root / "proc/self/exe", ignored);
  folders.push_back(program.parent_path().parent_path() / "lib");
  if (const auto python = find_program("python3", environment)) {
    folders.push_back(path(*python).parent_path().parent_path() / "lib");
  }
  const std::string home = value_of(environment, "HOME");
  if (!home.empty()) folders.push_back(path(home) / ".local/lib");
  folders.push_back(root / "usr/local/lib");
  folders.push_back(root / "usr/lib");
  return folders;
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

std::vector<path> wheel_files(const Environment& environment,
                              const std::vector<std::string_view>& parts, std::string_view name,
                              const path& root) {
  std::vector<path> files;
  for (const path& library : library_folders(environment, root)) {
    for (const path& python : folders_of_python(library)) {
      for (const char* packages : {"site-packages", "dist-packages"}) {
        for (const std::string_view part : parts) {
          const path file = python / packages / "nvidia" / part / "lib" / name;
          if (is_there(file) && std::ranges::find(files, file) == files.end())
            files.push_back(file);
        }
      }
    }
  }
  return files;
}

std::vector<LibraryFile> nccl_files(const Environment& environment, const path& root) {
  const std::string named = value_of(environment, "LINKGAIN_NCCL");
  if (!named.empty()) {
    std::error_code ignored;
    const bool folder = std::filesystem::is_directory(named, ignored);
    return {{folder ? nccl_in(named).string() : named, "LINKGAIN_NCCL"}};
  }
  std::vector<LibraryFile> files;
  const std::string home = value_of(environment, "NCCL_HOME");
  if (!home.empty()) files.push_back({nccl_in(home).string(), "NCCL_HOME"});
  files.push_back({kNcclFile, "loader"});
  for (const path& file : wheel_files(environment, {"nccl"}, kNcclFile, root)) {
    files.push_back({file.string(), "Python wheel"});
  }
  return files;
}

}  // namespace linkgain::gpu
