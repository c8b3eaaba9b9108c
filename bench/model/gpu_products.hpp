#pragma once

#include <array>
#include <cstddef>

#include "gpu_state.hpp"
#include "linkgain/core/units.hpp"
#include "linkgain/gpu/matrix_product.hpp"
#include "linkgain/gpu/side_stream.hpp"

namespace linkgain::on_gpu {

/// A block's four projections, in the order of forward.
enum class Projection { attention, projection, expansion, contraction };
inline constexpr std::size_t kProjections = 4;

/// What the gradients of a projection are made of, and where that of its input goes.
struct ProjectionGradients {
  const void* input;
  const void* output_gradient;
  void* input_gradient;
};

/// The matrix products of a step. What is called input and output are those of forward: tokens ×
/// channels in and out of activations; gradients of outputs and inputs are activations too, of
/// weights float32. Results are overwritten.
class Products {
 public:
  /// Makes all plans. Overwrites the arena and the gradients.
  explicit Products(State& state);

  /// output = input weight + bias
  void forward(Projection projection, int block, const void* input, void* output);
  /// gradient of weight = inputᵀ output_gradient; input_gradient = output_gradient weightᵀ. The two
  /// run side by side where that takes less time, for the last blocks of one leave multiprocessors
  /// to the other; what follows on the model's stream finds both done.
  void gradients(Projection projection, int block, const ProjectionGradients& places);

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
    const gpu::ProductPlan* weight_gradient = nullptr;
    const gpu::ProductPlan* input_gradient = nullptr;
    bool is_side_by_side = false;  ///< the two gradients
  };

  /// The operands of both gradients.
  struct GradientOperands {
    gpu::ProductOperands weight;
    gpu::ProductOperands input;
  };

  const gpu::ProductPlan* plan(gpu::MatrixProducts& products, gpu::ProductShape shape);
  Plans plans_of(Projection projection);
  Plans plans_of_head();
  /// Times both ways. Overwrites the arena and the gradients.
  bool are_faster_side_by_side(const Plans& plans);
  Seconds time_of(const Plans& plans, const GradientOperands& operands, bool is_side_by_side);
  void multiply_side_by_side(const Plans& plans, const GradientOperands& operands);
  void run(gpu::MatrixProducts& products, const gpu::ProductPlan& plan,
           const gpu::ProductOperands& operands);

  State& state_;
  gpu::MatrixProducts products_;
  gpu::MatrixProducts weight_gradients_;  ///< of projections: may run beside the others
  gpu::SideStream side_;
  std::array<Plans, kProjections> blocks_;
  Plans head_;
};

}  // namespace linkgain::on_gpu
