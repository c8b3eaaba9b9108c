#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/async_copy.cuh"
#include "kernels/common/math.hpp"

// The instructions that a tile's way through a multiprocessor takes after it was copied into shared
// memory: 8 x 8 matrices from there to registers, and products of 16 x 8 by tensor cores. Names and
// shapes of fragments are those of the PTX ISA, "Matrix multiply-accumulate operation using mma
// instruction". Before sm_80 they trap.

namespace linkgain::kernels {

/// Four 8 x 8 matrices of 16-bit numbers; `address` is that of a row of 16 bytes, of matrix lane /
/// 8 its row lane % 8. Each lane gets of each matrix 32 bits: row lane / 4, place lane % 4.
__device__ inline void load_matrices(std::uint32_t (&matrices)[4], std::uint32_t address) {
#if __CUDA_ARCH__ >= 750
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(address));
#else
  __trap();
#endif
}

/// The same of the matrices' transposes.
__device__ inline void load_transposed(std::uint32_t (&matrices)[4], std::uint32_t address) {
#if __CUDA_ARCH__ >= 750
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(address));
#else
  __trap();
#endif
}

/// One product of fragments: `upper` are a lane's two sums of row lane / 4, `lower` those of the
/// row 8 below.
__device__ inline void multiply_add_bf16(float* upper, float* lower, const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(upper[0]), "+f"(upper[1]), "+f"(lower[0]), "+f"(lower[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  __trap();
#endif
}

__device__ inline void multiply_add_tf32(float* upper, float* lower, const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(upper[0]), "+f"(upper[1]), "+f"(lower[0]), "+f"(lower[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  __trap();
#endif
}

/// The same value, of which the compiler knows nothing: what is computed from it is computed where
/// it is used, rather than before a loop and kept in registers that are short.
__device__ inline int not_ahead(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

/// The nearest TF32 number's bits.
__device__ inline std::uint32_t round_to_tf32(float value) {
  std::uint32_t bits = 0;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
#else
  __trap();
#endif
  return bits;
}

/// Two bfloat16 numbers, `low` in the lower half.
__device__ inline std::uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

}  // namespace linkgain::kernels
