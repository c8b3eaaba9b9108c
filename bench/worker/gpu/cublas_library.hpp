#pragma once

#include <cublasLt.h>

#include <memory>
#include <string>
#include <vector>

namespace linkgain::gpu {

/// Returns cuBLASLt's file of the major version compiled against, by its name and then where CMake
/// found it.
std::vector<std::string> cublas_names();

/// cuBLASLt, opened at run time, so that a program that multiplies no matrices does not load half a
/// gigabyte of it. Its functions have the library's own names, less the prefix: cublasLtMatmul() is
/// matmul().
class CublasLibrary {
 public:
  /// Opens the first of `names` (file names or paths, as dlopen() takes them) that can be opened;
  /// it is closed when this object ends. Throws MachineError where there is none, or where the
  /// library lacks a function.
  explicit CublasLibrary(const std::vector<std::string>& names);

  decltype(&cublasLtGetStatusName) get_status_name = nullptr;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) matrix_layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) matrix_layout_destroy = nullptr;
  decltype(&cublasLtMatmulDescCreate) matmul_desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) matmul_desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) matmul_desc_set_attribute = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) matmul_preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) matmul_preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) matmul_preference_set_attribute = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) matmul_algo_get_heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) matmul_algo_config_get_attribute = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;

 private:
  struct Closer {
    void operator()(void* object) const noexcept;
  };

  void resolve_all();
  template <typename Function>
  void resolve(Function& function, const char* symbol);

  std::string name_;
  std::unique_ptr<void, Closer> object_;
};

/// Returns the process's cuBLASLt, opened by the first call and never closed, as threads may still
/// be in it when the process ends. Thread-safe. Throws what the constructor throws; the next call
/// tries again.
const CublasLibrary& cublas();

}  // namespace linkgain::gpu
