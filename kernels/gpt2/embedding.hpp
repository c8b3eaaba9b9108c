#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/gpt2/token_rows.hpp"
#include "kernels/random/model_random.hpp"

// The embedding at the start of the residual stream, all in float32. Row i of a matrix of rows ×
// channels is token i of the batch, at position i % length of its sample. Memory is 16-byte aligned
// (int32 vectors 4-byte), channels a multiple of 4. cudaErrorInvalidValue for what does not fit.

namespace linkgain::kernels {

struct EmbeddingShape {
  std::int64_t rows;  ///< samples * length
  std::int64_t length;
  int channels;
};

/// Computes output[i] = dropout(token_embedding[tokens[i]] + position_embedding[i % length]).
/// `tokens` (rows of them, device memory) must all be rows of token_embedding, which nobody checks.
cudaError_t embedding_forward(const EmbeddingShape& shape, const std::int32_t* tokens,
                              const float* token_embedding, const float* position_embedding,
                              const MatrixDropout& dropout, float* output, cudaStream_t stream);

/// Computes position_gradient[p] = the sum over samples of dropout(stream_gradient) at position p,
/// samples in order; 0 for positions from `length` on. `stream_gradient` (rows × channels) is that
/// of the embedding's output and stays as it is; `position_gradient` (positions × channels) is
/// overwritten.
cudaError_t position_embedding_backward(const EmbeddingShape& shape, const float* stream_gradient,
                                        const MatrixDropout& dropout, std::int64_t positions,
                                        float* position_gradient, cudaStream_t stream);

/// Returns bytes of the scratch of token_embedding_backward(); 16-byte aligned, contents free
/// before and after.
std::int64_t token_embedding_backward_scratch(const EmbeddingShape& shape);

/// Computes token_gradient[t] += the sum over t's rows of dropout(stream_gradient). `list` is what
/// list_token_rows() made of the batch's tokens, in device memory, 16-byte aligned. Only rows of
/// tokens that are in the batch are touched. The order of sums is fixed by the list.
cudaError_t token_embedding_backward(const EmbeddingShape& shape, const std::int32_t* list,
                                     const float* stream_gradient, const MatrixDropout& dropout,
                                     float* token_gradient, void* scratch, cudaStream_t stream);

}  // namespace linkgain::kernels
