#include "linkgain/runtime/mpi_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "linkgain/base/errors.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

constexpr const char* kFile = "libmpi.so.40";

[[noreturn]] void refuse(const std::string& reason) {
  throw MachineError(
      fmt::format("--backend mpi, and ranks that mpirun or srun starts, need Open MPI, which "
                  "cannot be loaded: {}",
                  reason),
      "install it (apt-get install openmpi-bin), or add the folder of its libmpi.so.40 to "
      "LD_LIBRARY_PATH; the GPUs of one host need none: linkgain-bench -g 2");
}

std::string last_error() {
  const char* const error = ::dlerror();
  return error != nullptr ? error : kFile;
}

/// Opens it for all of the process to see: plug-ins of Open MPI's look for its functions.
void* open(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
  }
  refuse(last_error());
}

}  // namespace

MpiLibrary::MpiLibrary(const std::vector<std::string>& names) : library_(open(names)) {}

MpiLibrary::Symbol MpiLibrary::find(const char* symbol) const {
  if (void* const address = ::dlsym(library_, symbol)) return {address};
  refuse(last_error());
}

std::vector<std::string> mpi_files(const Environment& environment) {
  std::vector<std::string> files;
  if (const auto mpirun = find_program("mpirun", environment)) {
    std::error_code failed;
    const auto program = std::filesystem::canonical(*mpirun, failed);
    for (const char* folder : {"lib", "lib64"}) {
      const auto file = program.parent_path().parent_path() / folder / kFile;
      if (!failed && std::filesystem::exists(file, failed)) files.push_back(file.string());
    }
  }
  files.emplace_back(kFile);
  return files;
}

const MpiLibrary& mpi() {
  static const auto* const library = new MpiLibrary(mpi_files(current_environment()));
  return *library;
}

std::string mpi_version() {
  try {
    std::array<char, MpiLibrary::kLongestVersion> text{};
    int length = 0;
    mpi().get_library_version(text.data(), &length);
    const std::string whole(text.data());
    return whole.substr(0, whole.find(','));
  } catch (const MachineError&) {
    return {};
  }
}

}  // namespace linkgain
