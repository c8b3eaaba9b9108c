#pragma once

#include <cuda_runtime_api.h>

#include "kernels/gpt2/attention/call.hpp"

namespace linkgain::kernels {

/// attention_forward() in strict single precision.
cudaError_t attention_forward_fp32(const AttentionCall& call, cudaStream_t stream);

/// attention_backward() in strict single precision.
cudaError_t attention_backward_fp32(const AttentionCall& call, cudaStream_t stream);

}  // namespace linkgain::kernels
