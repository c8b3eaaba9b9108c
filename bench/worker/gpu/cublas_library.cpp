#include "cublas_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "linkgain/base/errors.hpp"

namespace linkgain::gpu {
namespace {

std::string advice() {
  return fmt::format(
      "Install cuBLAS of CUDA {0} (NVIDIA's package libcublas-{0}-*), or name the folder of its "
      "libcublasLt.so.{0} in LD_LIBRARY_PATH.",
      CUBLAS_VER_MAJOR);
}

}  // namespace

std::vector<std::string> cublas_names() {
  std::vector<std::string> names{fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR)};
#ifdef LINKGAIN_CUBLASLT_FOLDER
  names.push_back(fmt::format("{}/{}", LINKGAIN_CUBLASLT_FOLDER, names.front()));
#endif
  return names;
}

void CublasLibrary::Closer::operator()(void* object) const noexcept { dlclose(object); }

CublasLibrary::CublasLibrary(const std::vector<std::string>& names) {
  std::string reasons;
  for (const std::string& name : names) {
    object_.reset(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (object_) {
      name_ = name;
      resolve_all();
      return;
    }
    const char* error = dlerror();
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", error != nullptr ? error : name);
  }
  throw MachineError(fmt::format("cuBLASLt could not be loaded: {}", reasons), advice());
}

template <typename Function>
void CublasLibrary::resolve(Function& function, const char* symbol) {
  function = reinterpret_cast<Function>(dlsym(object_.get(), symbol));
  if (function == nullptr) {
    throw MachineError(
        fmt::format("{} has no {}: it is no cuBLASLt, or another version", name_, symbol),
        advice());
  }
}

void CublasLibrary::resolve_all() {
  resolve(get_status_name, "cublasLtGetStatusName");
  resolve(create, "cublasLtCreate");
  resolve(destroy, "cublasLtDestroy");
  resolve(matrix_layout_create, "cublasLtMatrixLayoutCreate");
  resolve(matrix_layout_destroy, "cublasLtMatrixLayoutDestroy");
  resolve(matmul_desc_create, "cublasLtMatmulDescCreate");
  resolve(matmul_desc_destroy, "cublasLtMatmulDescDestroy");
  resolve(matmul_desc_set_attribute, "cublasLtMatmulDescSetAttribute");
  resolve(matmul_preference_create, "cublasLtMatmulPreferenceCreate");
  resolve(matmul_preference_destroy, "cublasLtMatmulPreferenceDestroy");
  resolve(matmul_preference_set_attribute, "cublasLtMatmulPreferenceSetAttribute");
  resolve(matmul_algo_get_heuristic, "cublasLtMatmulAlgoGetHeuristic");
  resolve(matmul_algo_config_get_attribute, "cublasLtMatmulAlgoConfigGetAttribute");
  resolve(matmul, "cublasLtMatmul");
}

const CublasLibrary& cublas() {
  static const auto* const library = new CublasLibrary(cublas_names());
  return *library;
}

}  // namespace linkgain::gpu
