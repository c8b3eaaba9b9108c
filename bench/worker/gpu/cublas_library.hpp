#pragma once

#include <cublasLt.h>

#include <memory>
#include <string>
#include <vector>

namespace linkgain::gpu {

/// Returns cuBLASLt's file of the major version compiled against, by its name, then where CMake
/// found it, then of Python's wheels.
std::vector<std::string> cublas_names();

/// cuBLASLt, opened at run time, so that a program that multiplies no matrices does not load half a
/// gigabyte of it. Its functions have the library's own names, less the prefix: cublasLtMatmul() is
/// matmul().
class CublasLibrary {
  struct Closer {
    void operator()(void* object) const noexcept;
  };

  /// A function's address, as whatever pointer it is to be.
  struct Symbol {
    void* address;
    template <typename Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };

  // Before the functions, which are found in it.
  std::string name_;
  std::unique_ptr<void, Closer> object_;

  Symbol find(const char* symbol) const;

 public:
  /// Opens the first of `names` (file names or paths, as dlopen() takes them) that can be opened;
  /// it is closed when this object ends. Throws MachineError where there is none, or where the
  /// library lacks a function.
  explicit CublasLibrary(const std::vector<std::string>& names);

  decltype(&cublasLtGetStatusName) get_status_name = find("cublasLtGetStatusName");
  decltype(&cublasLtCreate) create = find("cublasLtCreate");
  decltype(&cublasLtDestroy) destroy = find("cublasLtDestroy");
  decltype(&cublasLtMatrixLayoutCreate) matrix_layout_create = find("cublasLtMatrixLayoutCreate");
  decltype(&cublasLtMatrixLayoutDestroy) matrix_layout_destroy =
      find("cublasLtMatrixLayoutDestroy");
  decltype(&cublasLtMatmulDescCreate) matmul_desc_create = find("cublasLtMatmulDescCreate");
  decltype(&cublasLtMatmulDescDestroy) matmul_desc_destroy = find("cublasLtMatmulDescDestroy");
  decltype(&cublasLtMatmulDescSetAttribute) matmul_desc_set_attribute =
      find("cublasLtMatmulDescSetAttribute");
  decltype(&cublasLtMatmulPreferenceCreate) matmul_preference_create =
      find("cublasLtMatmulPreferenceCreate");
  decltype(&cublasLtMatmulPreferenceDestroy) matmul_preference_destroy =
      find("cublasLtMatmulPreferenceDestroy");
  decltype(&cublasLtMatmulPreferenceSetAttribute) matmul_preference_set_attribute =
      find("cublasLtMatmulPreferenceSetAttribute");
  decltype(&cublasLtMatmulAlgoGetHeuristic) matmul_algo_get_heuristic =
      find("cublasLtMatmulAlgoGetHeuristic");
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) matmul_algo_config_get_attribute =
      find("cublasLtMatmulAlgoConfigGetAttribute");
  decltype(&cublasLtMatmul) matmul = find("cublasLtMatmul");
};

/// Returns the process's cuBLASLt, opened by the first call and never closed, as threads may still
/// be in it when the process ends. Thread-safe. Throws what the constructor throws; the next call
/// tries again.
const CublasLibrary& cublas();

}  // namespace linkgain::gpu
