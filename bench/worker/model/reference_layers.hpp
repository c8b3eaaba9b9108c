#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/random/model_random.hpp"

// The layers of a GPT-2, forward and backward.
namespace linkgain::reference {

/// Row-major, rows * columns numbers.
struct ConstMatrix {
  const double* data;
  std::int64_t rows;
  std::int64_t columns;
};

struct Matrix {
  double* data;
  std::int64_t rows;
  std::int64_t columns;

  operator ConstMatrix() const { return {data, rows, columns}; }
};

/// Whether the result is added to what stands there.
enum class Into { overwrite, add };

/// Computes result = a b.
void multiply(ConstMatrix a, ConstMatrix b, Matrix result, Into into = Into::overwrite);

/// Computes result = a bᵀ.
void multiply_transposed(ConstMatrix a, ConstMatrix b, Matrix result, Into into = Into::overwrite);

/// Computes result = aᵀ b.
void transposed_multiply(ConstMatrix a, ConstMatrix b, Matrix result, Into into = Into::overwrite);

/// Adds `row` to every row.
void add_row(Matrix matrix, const double* row);

/// Sums all rows into `row`.
void sum_rows(ConstMatrix matrix, double* row);

/// What LayerNorm's backward needs of its forward.
struct NormState {
  std::vector<double> normalised;         ///< rows * columns
  std::vector<double> inverse_deviation;  ///< rows

  void resize(std::int64_t rows, std::int64_t columns);
};

/// Computes output = normalised input * weight + bias, row by row.
void norm_forward(ConstMatrix input, const double* weight, const double* bias, NormState& state,
                  Matrix output);

/// What a LayerNorm's backward writes.
struct NormGradients {
  double* input;  ///< added to: the residual stream goes by
  double* weight;
  double* bias;
};

void norm_backward(ConstMatrix output_gradient, const double* weight, const NormState& state,
                   NormGradients gradients);

/// Computes GELU in its tanh form: 0.5 x (1 + tanh(sqrt(2 / π) (x + 0.044715 x³))). D. Hendrycks
/// and K. Gimpel, "Gaussian error linear units", 2016.
void gelu_forward(std::span<const double> input, std::span<double> output);

/// Computes gradient *= GELU'(input).
void gelu_backward(std::span<const double> input, std::span<double> gradient);

/// Dropout at one place for the elements from `first` on.
struct Dropout {
  kernels::DropoutMask mask;
  std::int64_t first;

  bool drops() const { return mask.threshold != 0; }
  /// Multiplies each with 0 or the scale; the same forward and backward.
  void apply(std::span<double> values) const;
};

/// What of the batch attention sees.
struct AttentionShape {
  std::int64_t samples;
  std::int64_t length;
  std::int64_t heads;
  std::int64_t head_channels;

  std::int64_t channels() const { return heads * head_channels; }
  std::int64_t probabilities() const { return samples * heads * length * length; }
};

/// Computes causal attention. `qkv` has queries, keys and values of all heads beside each other in
/// a row per token; `output` the heads' results. `probabilities` (samples × heads × length ×
/// length) are left as before dropout, `dropped` as after; both are 0 above the diagonal.
void attention_forward(const AttentionShape& shape, const double* qkv, const Dropout& dropout,
                       std::span<double> probabilities, std::span<double> dropped, double* output);

void attention_backward(const AttentionShape& shape, const double* qkv, const Dropout& dropout,
                        std::span<const double> probabilities, std::span<const double> dropped,
                        const double* output_gradient, double* qkv_gradient);

/// Turns each row of logits into its gradient, scale * (softmax - one at the target), and returns
/// the sum over rows of -log softmax at the target.
double cross_entropy(Matrix logits, std::span<const std::int32_t> targets, double scale);

}  // namespace linkgain::reference
