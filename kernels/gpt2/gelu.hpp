#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/element.hpp"

// GELU in its tanh form: 0.5 x (1 + tanh(sqrt(2 / π) (x + 0.044715 x³))). D. Hendrycks and K.
// Gimpel, "Gaussian error linear units", 2016.
//
// Matrices of activations (float32 or bfloat16) are row-major without gaps and begin at a multiple
// of 16 bytes, arithmetic is float32. cudaErrorInvalidValue for other types, shapes and misaligned
// memory.

namespace linkgain::kernels {

/// Computes output = GELU(input); `count` elements, a multiple of 8. `output` may be `input`, but
/// backward needs that.
cudaError_t gelu_forward(ElementType activations, const void* input, void* output,
                         std::int64_t count, cudaStream_t stream);

/// Computes gradient *= GELU'(input), both rows × columns, and bias_gradient = the sums of the
/// columns of the result before it is rounded: the gradient of the bias that is in `input`.
/// `bias_gradient` (columns, float32) is overwritten; null where it is not wanted, then `scratch`
/// may be null too. `columns` is a multiple of 8. `scratch`: column_sums_scratch(columns) bytes
/// (column_sums.hpp).
cudaError_t gelu_backward(ElementType activations, std::int64_t rows, int columns,
                          const void* input, void* gradient, float* bias_gradient, void* scratch,
                          cudaStream_t stream);

}  // namespace linkgain::kernels
