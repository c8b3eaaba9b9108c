#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu_state.hpp"
#include "linkgain/gpu/matrix_product.hpp"

namespace linkgain::on_gpu {

/// A block's four projections, in the order of forward.
enum class Projection { attention, projection, expansion, contraction };
inline constexpr std::size_t kProjections = 4;

/// The matrix products of a step. What is called input and output are those of forward: tokens ×
/// channels in and out of activations; gradients of outputs and inputs are activations too, of
/// weights float32. Results are overwritten.
class Products {
 public:
  /// Makes all plans. Overwrites the arena and the gradients.
  explicit Products(State& state);

  /// Returns the chosen algorithms in the order of the plans.
  const std::vector<std::string>& chosen() const { return products_.chosen(); }

  /// Computes output = input weight + bias.
  void forward(Projection projection, int block, const void* input, void* output);
  /// Computes gradient of weight = inputᵀ output_gradient.
  void weight_gradient(Projection projection, int block, const void* input,
                       const void* output_gradient);
  /// Computes input_gradient = output_gradient weightᵀ.
  void input_gradient(Projection projection, int block, const void* output_gradient,
                      void* input_gradient);

  // The head, whose weight is the token embedding. Its columns are the padded vocabulary, as
  // cuBLASLt is slower with an odd number: products reach 63 rows behind the embedding at most,
  // which the flat buffers have room for. What that gives in the padding of `logits` is for the
  // loss to mask; in the padding of `gradient` must be zeros.
  void logits(const void* input, void* logits);
  void logits_input_gradient(const void* gradient, void* input_gradient);
  /// Writes zeros behind the vocabulary's rows, where the gradients of the position embedding and
  /// of the first block stand: to be called before those are final.
  void logits_weight_gradient(const void* input, const void* gradient);

 private:
  struct Plans {
    const gpu::ProductPlan* forward = nullptr;
    const gpu::ProductPlan* weight_gradient = nullptr;  ///< null for the head
    const gpu::ProductPlan* input_gradient = nullptr;
  };

  const gpu::ProductPlan* plan(gpu::ProductShape shape);
  Plans plans_of(Projection projection);
  Plans plans_of_head();
  /// Returns a part of the sum over all tokens: `tokens` of them.
  const gpu::ProductPlan* plan_of_head_weight(std::int64_t tokens, bool adds);
  void run(const gpu::ProductPlan& plan, const gpu::ProductOperands& operands);

  State& state_;
  gpu::MatrixProducts products_;
  std::array<Plans, kProjections> blocks_;
  Plans head_;
  std::vector<const gpu::ProductPlan*> head_weight_parts_;
};

}  // namespace linkgain::on_gpu
