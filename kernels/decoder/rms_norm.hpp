#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace linkgain::kernels {

/// Rows are a multiple of so many elements.
inline constexpr int kRmsNormStep = 8;

/// Computes output = input / sqrt(mean(input²) + epsilon) * weight, row by row, of bfloat16
/// (arXiv:1910.07467). Matrices are rows × hidden, row-major without gaps; `weight` has `hidden`
/// elements. All begin at a multiple of 16 bytes; `output` may be `input`. Arithmetic is float32,
/// sums go in a fixed order. Returns cudaErrorInvalidValue for other shapes and addresses, else
/// what the launch returned. No rows are no work.
cudaError_t rms_norm(const void* input, const void* weight, void* output, std::int64_t rows,
                     int hidden, float epsilon, cudaStream_t stream);

}  // namespace linkgain::kernels
