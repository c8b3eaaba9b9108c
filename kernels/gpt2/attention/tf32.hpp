#pragma once

#include <cuda_runtime_api.h>

#include "kernels/gpt2/attention/call.hpp"

namespace linkgain::kernels {

/// attention_forward() by TF32 tensor cores.
cudaError_t attention_forward_tf32(const AttentionCall& call, cudaStream_t stream);

/// attention_backward() by TF32 tensor cores.
cudaError_t attention_backward_tf32(const AttentionCall& call, cudaStream_t stream);

}  // namespace linkgain::kernels
