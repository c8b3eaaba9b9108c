#pragma once

#include <cuda_runtime_api.h>

#include "kernels/gpt2/attention/call.hpp"

namespace linkgain::kernels {

/// attention_forward() by bfloat16 tensor cores.
cudaError_t attention_forward_bf16(const AttentionCall& call, cudaStream_t stream);

/// attention_backward() by bfloat16 tensor cores.
cudaError_t attention_backward_bf16(const AttentionCall& call, cudaStream_t stream);

}  // namespace linkgain::kernels
