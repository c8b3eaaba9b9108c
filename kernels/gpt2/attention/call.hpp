#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/gpt2/attention/attention.hpp"

// What attention.hpp's functions hand on to those of a precision, once it is in order.

namespace linkgain::kernels {

/// A call of either pass; what it does not have is null.
struct AttentionCall {
  AttentionShape shape;
  float scale;  ///< of scores
  const void* qkv;
  const void* forward_output;
  const void* output_gradient;
  AttentionDropout dropout;
  void* output;
  void* qkv_gradient;
  float* log_sums;      ///< written by the forward pass, read by the backward pass
  std::uint32_t* kept;  ///< as log_sums; null but with dropout
  float* row_dots;      ///< and behind them turns
};

}  // namespace linkgain::kernels
