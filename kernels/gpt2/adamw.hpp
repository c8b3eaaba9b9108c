#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace linkgain::kernels {

// Ranges of the model's flat buffers. A range may begin and end anywhere; it is fast if all its
// pointers are equally far (in elements) from a multiple of four elements, as the same offset into
// aligned buffers is. No elements are no work; a negative count is cudaErrorInvalidValue.

/// Returns bytes of the scratch of add_squared_norm(): 8-byte aligned, contents free before and
/// after.
std::int64_t squared_norm_scratch();

/// Computes *sum += the sum of squares of values[0] … values[count - 1]: float32 a thread, double
/// beyond, in an order that is the same in every run and on every device. All device memory.
cudaError_t add_squared_norm(const float* values, std::int64_t count, float* sum, void* scratch,
                             cudaStream_t stream);

/// What one step of AdamW without weight decay does to every parameter: the fields of the model's
/// optimizer step, by value.
struct AdamScalars {
  double learning_rate;
  double beta1;
  double beta2;
  double correction1;  ///< 1 - beta1^n in the n-th step
  double correction2;
  double epsilon;
  double largest_norm;  ///< gradients are clipped to
};

struct AdamRange {
  float* parameters;
  const float* gradients;
  float* first_moments;
  float* second_moments;
  /// bfloat16: receives the new parameters, rounded to nearest even; null where there is no copy.
  void* copy;
  std::int64_t count;
};

/// Updates parameters by AdamW. With g = gradient * min(1, largest_norm / (sqrt(*squared_norm) +
/// 1e-6)):
///   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g²
///   parameter -= learning_rate * (m / correction1) / (sqrt(v / correction2) + epsilon)
/// in float32. `squared_norm` is read on the device when the kernel runs. An element's result does
/// not depend, in any bit, on the range or its alignment. Pointers need the alignment of their
/// elements only.
cudaError_t adam_update(const AdamRange& range, const AdamScalars& scalars,
                        const float* squared_norm, cudaStream_t stream);

}  // namespace linkgain::kernels
