#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/element.hpp"

namespace linkgain::kernels {

/// Rows of partial sums that kernels leave in scratch at most, before they are summed up.
inline constexpr int kMostPartialRows = 256;

/// Returns bytes of the scratch of column_sums() and gelu_backward(), for any number of rows. It
/// must begin at a multiple of 16 bytes; what is in it before does not matter, and it is free again
/// after the call, in the order of the stream.
std::int64_t column_sums_scratch(int columns);

/// Computes sums[j] = the sum over i of matrix[i][j]: gradients of biases. `matrix` is row-major
/// without gaps, rows × columns of float32 or bfloat16, 16-byte aligned, columns a multiple of 8;
/// `sums` (columns, float32) is overwritten, also with no rows. Sums are float32 in an order that
/// is the same in every run and on every device. cudaErrorInvalidValue for what does not fit.
cudaError_t column_sums(ElementType type, std::int64_t rows, int columns, const void* matrix,
                        float* sums, void* scratch, cudaStream_t stream);

}  // namespace linkgain::kernels
