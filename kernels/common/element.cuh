#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/element.hpp"

// Elements on the device: their C++ types.

namespace linkgain::kernels {

template <typename T>
struct TypeTag {
  using type = T;
};

constexpr ElementType element_of(TypeTag<float>) { return ElementType::float32; }
constexpr ElementType element_of(TypeTag<__half>) { return ElementType::float16; }
constexpr ElementType element_of(TypeTag<__nv_bfloat16>) { return ElementType::bfloat16; }
constexpr ElementType element_of(TypeTag<double>) { return ElementType::float64; }
constexpr ElementType element_of(TypeTag<std::int8_t>) { return ElementType::int8; }
constexpr ElementType element_of(TypeTag<std::uint8_t>) { return ElementType::uint8; }
constexpr ElementType element_of(TypeTag<std::int32_t>) { return ElementType::int32; }
constexpr ElementType element_of(TypeTag<std::uint32_t>) { return ElementType::uint32; }
constexpr ElementType element_of(TypeTag<std::int64_t>) { return ElementType::int64; }
constexpr ElementType element_of(TypeTag<std::uint64_t>) { return ElementType::uint64; }
constexpr ElementType element_of(TypeTag<__nv_fp8_e4m3>) { return ElementType::float8e4m3; }
constexpr ElementType element_of(TypeTag<__nv_fp8_e5m2>) { return ElementType::float8e5m2; }

/// Returns work(TypeTag<T>) for the one of Ts that `type` is; cudaErrorInvalidValue for others.
template <typename... Ts, typename Work>
cudaError_t with_one_of(ElementType type, Work work) {
  cudaError_t status = cudaErrorInvalidValue;
  static_cast<void>(((type == element_of(TypeTag<Ts>{}) &&
                      (static_cast<void>(status = work(TypeTag<Ts>{})), true)) ||
                     ...));
  return status;
}

/// Calls `work` for every type that there is.
template <typename Work>
cudaError_t with_type(ElementType type, Work work) {
  return with_one_of<float, __half, __nv_bfloat16, double, std::int8_t, std::uint8_t, std::int32_t,
                     std::uint32_t, std::int64_t, std::uint64_t, __nv_fp8_e4m3, __nv_fp8_e5m2>(
      type, work);
}

}  // namespace linkgain::kernels
