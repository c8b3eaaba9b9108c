#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/element.hpp"

// From ElementType to the C++ type that kernels are instantiated with.

namespace linkgain::kernels {

template <typename T>
struct TypeTag {
  using type = T;
};

/// Returns work(TypeTag<T>) for the type's T.
template <typename Work>
cudaError_t with_type(ElementType type, Work work) {
  switch (type) {
    case ElementType::float32:
      return work(TypeTag<float>{});
    case ElementType::float16:
      return work(TypeTag<__half>{});
    case ElementType::bfloat16:
      return work(TypeTag<__nv_bfloat16>{});
    case ElementType::float64:
      return work(TypeTag<double>{});
    case ElementType::int8:
      return work(TypeTag<std::int8_t>{});
    case ElementType::uint8:
      return work(TypeTag<std::uint8_t>{});
    case ElementType::int32:
      return work(TypeTag<std::int32_t>{});
    case ElementType::uint32:
      return work(TypeTag<std::uint32_t>{});
    case ElementType::int64:
      return work(TypeTag<std::int64_t>{});
    case ElementType::uint64:
      return work(TypeTag<std::uint64_t>{});
    case ElementType::float8e4m3:
      return work(TypeTag<__nv_fp8_e4m3>{});
    case ElementType::float8e5m2:
      return work(TypeTag<__nv_fp8_e5m2>{});
  }
  return cudaErrorInvalidValue;
}

}  // namespace linkgain::kernels
