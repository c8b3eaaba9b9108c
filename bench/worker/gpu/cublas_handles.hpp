#pragma once

#include <cublasLt.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>

#include "cublas_library.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/matrix_product.hpp"

// Owners of cuBLASLt's descriptors, and its enumerations from ours. Neither copied nor moved.
namespace linkgain::gpu {

inline void check_cublas(cublasStatus_t status, const ProductShape* shape = nullptr,
                         const std::source_location& where = std::source_location::current()) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string what = shape != nullptr ? fmt::format(" for {}", description(*shape)) : "";
  throw MachineError(
      fmt::format("cuBLASLt: {}{}, at {}", cublas().get_status_name(status), what, place_of(where)),
      status == CUBLAS_STATUS_NOT_SUPPORTED
          ? "This GPU or this cuBLASLt lacks the precision; take fp32."
          : "");
}

inline cudaDataType_t cuda_type(DataType type) {
  return type == DataType::bfloat16 ? CUDA_R_16BF : CUDA_R_32F;
}

inline DataType input_type(const ProductShape& shape) {
  return shape.precision == kernels::TrainingPrecision::bf16 ? DataType::bfloat16
                                                             : DataType::float32;
}

inline cublasComputeType_t compute_type(kernels::TrainingPrecision precision) {
  switch (precision) {
    case kernels::TrainingPrecision::fp32:
    case kernels::TrainingPrecision::bf16:
      return CUBLAS_COMPUTE_32F;
    case kernels::TrainingPrecision::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
  }
  throw std::invalid_argument("no such precision");
}

/// cuBLASLt's matrices are column-major, so it is given the transposed product, resultᵀ = rightᵀ
/// leftᵀ: a row-major matrix read by columns is its transpose.
struct Layout {
  cublasLtMatrixLayout_t handle = nullptr;

  Layout(DataType type, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
    check_cublas(cublas().matrix_layout_create(&handle, cuda_type(type),
                                               static_cast<std::uint64_t>(columns),
                                               static_cast<std::uint64_t>(rows), stride));
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() { cublas().matrix_layout_destroy(handle); }
};

struct Operation {
  cublasLtMatmulDesc_t handle = nullptr;

  explicit Operation(kernels::TrainingPrecision precision) {
    check_cublas(cublas().matmul_desc_create(&handle, compute_type(precision), CUDA_R_32F));
  }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation() { cublas().matmul_desc_destroy(handle); }

  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    check_cublas(cublas().matmul_desc_set_attribute(handle, attribute, &value, sizeof(value)));
  }
};

struct Preference {
  cublasLtMatmulPreference_t handle = nullptr;

  Preference() { check_cublas(cublas().matmul_preference_create(&handle)); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  ~Preference() { cublas().matmul_preference_destroy(handle); }

  template <typename Value>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
    check_cublas(
        cublas().matmul_preference_set_attribute(handle, attribute, &value, sizeof(value)));
  }
};

template <typename Value>
Value setting(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t which) {
  Value value{};
  std::size_t written = 0;
  check_cublas(cublas().matmul_algo_config_get_attribute(&algorithm, which, &value, sizeof(value),
                                                         &written));
  return value;
}

inline std::string describe(const cublasLtMatmulAlgo_t& algorithm) {
  return fmt::format("algo {}, tile {}, stages {}, split {}",
                     setting<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID),
                     setting<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID),
                     setting<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID),
                     setting<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
}

}  // namespace linkgain::gpu
