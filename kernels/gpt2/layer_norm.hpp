#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/element.hpp"
#include "kernels/random/model_random.hpp"

// LayerNorm between the residual stream (float32) and a block's branch ("activations": float32 or
// bfloat16), together with what is done to the stream at the same places.
//
// All matrices are row-major without gaps, rows × channels, a row for each token, and begin at a
// multiple of 16 bytes; so do vectors of `channels`. Arithmetic is float32, sums go in a fixed
// order: a device gives the same bits in every run. Functions return cudaErrorInvalidValue for
// other activation types, for shapes that do not fit, misaligned memory, and for a dropout whose
// `first` does not fit; else what the launch returned. No rows are no work.

namespace linkgain::kernels {

/// Channels are a multiple of this …
inline constexpr int kNormChannelStep = 64;
/// … and at most this many.
inline constexpr int kMostNormChannels = 1024;

struct NormShape {
  std::int64_t rows;
  int channels;
  float epsilon;  ///< added to the variance
};

/// A norm's parameters and where its results go.
struct NormForward {
  const float* weight;       ///< channels
  const float* bias;         ///< channels
  void* output;              ///< activations, rows × channels
  float* mean;               ///< rows
  float* inverse_deviation;  ///< rows: 1 / sqrt(variance + epsilon)
};

/// Computes output = (input - mean) * inverse_deviation * weight + bias, row by row.
cudaError_t norm_forward(ElementType activations, const NormShape& shape, const float* input,
                         const NormForward& norm, cudaStream_t stream);

/// What comes back into the residual stream.
struct Branch {
  const void* values;     ///< activations, rows × channels
  MatrixDropout dropout;  ///< of `values`
};

/// Computes sum = residual + dropout(branch), then norm_forward() of it, in one pass. `sum` may be
/// `residual`. Where the branch is a whole block's and the norm the next one's this is the first
/// thing that the next one's forward does, as only then its parameters are sure to be there.
cudaError_t add_norm_forward(ElementType activations, const NormShape& shape, const float* residual,
                             const Branch& branch, float* sum, const NormForward& norm,
                             cudaStream_t stream);

/// Returns bytes of the scratch of norm_backward(), for any number of rows. It must begin at a
/// multiple of 16 bytes; what is in it before does not matter, and it is free again after the call,
/// in the order of the stream.
std::int64_t norm_backward_scratch(int channels);

struct NormBackward {
  const void* output_gradient;     ///< activations, rows × channels
  const float* input;              ///< forward's `input` or `sum`, rows × channels
  const float* mean;               ///< rows, of forward
  const float* inverse_deviation;  ///< rows, of forward
  const float* weight;             ///< channels
  /// Gradient of the residual stream, rows × channels: the norm's is added to what is there …
  float* stream_gradient;
  /// … or overwrites it, where the norm is the last thing that the stream goes into.
  bool overwrites_stream;
  float* weight_gradient;  ///< channels, overwritten
  float* bias_gradient;    ///< channels, overwritten
};

/// The gradient of the branch that was added to the stream just before the norm.
struct BranchGradient {
  /// dropout(stream_gradient as it is then), activations, rows × channels, overwritten; null where
  /// there is no branch, as for a norm that takes the embedding.
  void* values;
  MatrixDropout dropout;  ///< as forward's
  /// channels, overwritten: the sums of the columns of `values` before they were rounded, which is
  /// the gradient of the bias of the projection that ends the branch. May be null; is left out
  /// where `values` is null.
  float* bias_gradient;
};

/// Goes backward through norm_forward() and add_norm_forward(). With h = (input - mean) *
/// inverse_deviation and g = output_gradient * weight, stream_gradient += inverse_deviation * (g -
/// mean(g) - h mean(g h)), row by row; weight_gradient = the sum over rows of output_gradient * h,
/// bias_gradient of output_gradient. `output_gradient` may be branch.values (each row is read
/// before it is written); nothing else may overlap.
cudaError_t norm_backward(ElementType activations, const NormShape& shape, const NormBackward& norm,
                          const BranchGradient& branch, void* scratch, cudaStream_t stream);

}  // namespace linkgain::kernels
