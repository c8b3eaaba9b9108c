#include "cublas_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/nccl_library.hpp"

namespace linkgain::gpu {
namespace {

std::string advice() {
  return fmt::format(
      "Install cuBLAS of CUDA {0} (NVIDIA's package libcublas-{0}-*, or pip's {1}), or name the "
      "folder of its libcublasLt.so.{0} in LD_LIBRARY_PATH.",
      CUBLAS_VER_MAJOR, CUBLAS_VER_MAJOR > 12 ? "nvidia-cublas" : "nvidia-cublas-cu12");
}

/// Opens the first of the names that can be opened, and notes it.
void* open_first(const std::vector<std::string>& names, std::string& name) {
  std::string reasons;
  for (const std::string& each : names) {
    name = each;
    if (void* const object = dlopen(each.c_str(), RTLD_NOW | RTLD_LOCAL)) return object;
    const char* error = dlerror();
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", error != nullptr ? error : each);
  }
  throw MachineError(fmt::format("cuBLASLt could not be loaded: {}", reasons), advice());
}

}  // namespace

std::vector<std::string> cublas_names() {
  std::vector<std::string> names{fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR)};
#ifdef LINKGAIN_CUBLASLT_FOLDER
  names.push_back(fmt::format("{}/{}", LINKGAIN_CUBLASLT_FOLDER, names.front()));
#endif
  // Wheels of CUDA 13 share a folder, older ones have one each.
  const std::string shared = fmt::format("cu{}", CUBLAS_VER_MAJOR);
  for (const auto& file : wheel_files(current_environment(), {shared, "cublas"}, names.front())) {
    names.push_back(file.string());
  }
  return names;
}

void CublasLibrary::Closer::operator()(void* object) const noexcept { dlclose(object); }

CublasLibrary::CublasLibrary(const std::vector<std::string>& names)
    : object_(open_first(names, name_)) {}

CublasLibrary::Symbol CublasLibrary::find(const char* symbol) const {
  if (void* const address = dlsym(object_.get(), symbol)) return {address};
  throw MachineError(
      fmt::format("{} has no {}: it is no cuBLASLt, or another version", name_, symbol), advice());
}

const CublasLibrary& cublas() {
  static const auto* const library = new CublasLibrary(cublas_names());
  return *library;
}

}  // namespace linkgain::gpu
