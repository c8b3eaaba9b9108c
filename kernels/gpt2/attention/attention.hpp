#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/element.hpp"
#include "kernels/common/wait_report.hpp"
#include "kernels/gpt2/attention/shape.hpp"

// Causal multi-head attention, softmax(Q K^T / sqrt(head_channels)) V with dropout on the
// probabilities, which are never in global memory: they are made tile by tile with a running
// softmax, and once more in the backward pass. After T. Dao, "FlashAttention-2: faster attention
// with better parallelism and work partitioning", 2023.
//
// No sum's order depends on timing: the same call gives the same bits.

namespace linkgain::kernels {

/// Fills `output` and `lse`, and `dropout_bits` where dropout is enabled.
///
/// `qkv` has samples * length rows of 3 * heads * head_channels numbers: queries, keys and values
/// beside each other, and heads beside each other within each. `output` has as many rows of heads *
/// head_channels. Both are float, or bfloat16 with TrainingPrecision::bf16, in memory of the
/// current device, aligned to 16 bytes. `lse` (samples * heads * length floats) are the
/// natural logarithms of the sums of the exponentials of a query's scaled scores, for the backward
/// pass. `dropout_bits` (attention_mask_bytes(), null where dropout is disabled) says which
/// probabilities are kept, so that the backward pass draws no random words; its order of bits is
/// the precision's.
///
/// cudaErrorInvalidValue: sizes or addresses other than these. cudaErrorNotSupported: bf16 on a
/// device before sm_80; tf32 is strict single precision there.
cudaError_t attention_forward(TrainingPrecision precision, const AttentionShape& shape,
                              const void* qkv, const AttentionDropout& dropout, void* output,
                              float* lse, std::uint32_t* dropout_bits, cudaStream_t stream);

/// Fills `qkv_gradient` (as qkv; every element) from what the forward pass was given and gave, and
/// from `output_gradient` (as output). `scratch` has attention_scratch_bytes(). Blocks wait for
/// each other, `bound` says how long. Errors are as for attention_forward().
cudaError_t attention_backward(TrainingPrecision precision, const AttentionShape& shape,
                               const void* qkv, const void* output, const void* output_gradient,
                               const float* lse, const std::uint32_t* dropout_bits,
                               const AttentionDropout& dropout, float* scratch, void* qkv_gradient,
                               const WaitBound& bound, cudaStream_t stream);

}  // namespace linkgain::kernels
