#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/element.hpp"

namespace linkgain::kernels {

struct LossShape {
  std::int64_t rows;  ///< tokens, at least 1
  int vocabulary;     ///< valid columns, at least 1
  int padded;         ///< columns in memory, a multiple of 8, at least `vocabulary`
};

/// Computes softmax cross-entropy and its gradient, in one kernel that reads and writes every logit
/// once if a row fits into shared memory, else reads it twice, and one that takes the mean.
///   row_losses[i] = log(sum over j of exp(logits[i][j])) - logits[i][targets[i]]
///   *mean_loss = their mean
///   logits[i][j] = gradient_scale * (softmax(logits[i])[j] - (1 if j = targets[i])), 0 in padding
/// over valid columns j. `logits`: rows × padded of `type` (float32 or bfloat16), row-major,
/// 16-byte aligned, padding of any content; overwritten. `targets`: rows, in 0 … vocabulary - 1,
/// which nobody checks. `row_losses`: rows. The gradient of a mean loss has gradient_scale = scale
/// / rows. Everything is device memory, sums are float32 in a fixed order. cudaErrorInvalidValue
/// for what does not fit.
cudaError_t token_loss(ElementType type, const LossShape& shape, const std::int32_t* targets,
                       float gradient_scale, void* logits, float* row_losses, float* mean_loss,
                       cudaStream_t stream);

}  // namespace linkgain::kernels
