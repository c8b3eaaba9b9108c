#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "gpu_memory.hpp"
#include "kernels/common/element.hpp"
#include "kernels/gpt2/attention/attention.hpp"
#include "kernels/gpt2/layer_norm.hpp"
#include "kernels/random/model_random.hpp"
#include "linkgain/gpt2/gpt2_config.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/matrix_product.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/model/gpu_options.hpp"

namespace linkgain::on_gpu {

/// A norm's tensors, what it normalises, and what its backward needs of its forward.
struct NormPlace {
  TensorKind weight;
  TensorKind bias;
  int block;
  MemorySpan input;
  NormSpans spans;
};

/// What the parts of a model share: memory, stream, and what is particular to the step.
class State {
 public:
  explicit State(const GpuModelOptions& options);

  const GpuModelOptions& options() const { return options_; }
  const ParameterTable& table() const { return table_; }
  const GpuModelMemory& memory() const { return memory_; }
  const gpu::Stream& stream() const { return stream_; }
  std::int64_t tokens() const { return options_.shape.tokens(); }
  int channels() const { return options_.config.channels; }
  bool is_bf16() const { return options_.precision == kernels::TrainingPrecision::bf16; }

  kernels::ElementType activations() const {
    return is_bf16() ? kernels::ElementType::bfloat16 : kernels::ElementType::float32;
  }
  /// Returns bytes of tokens × columns activations; tokens × columns float32.
  std::int64_t activation_bytes(std::int64_t columns) const {
    return tokens() * columns * (is_bf16() ? 2 : 4);
  }
  std::int64_t float_bytes(std::int64_t columns) const { return tokens() * columns * 4; }

  void* at(const MemorySpan& span) const { return static_cast<char*>(arena_.data()) + span.begin; }
  float* floats(const MemorySpan& span) const { return static_cast<float*>(at(span)); }
  std::int32_t* integers(const MemorySpan& span) const {
    return static_cast<std::int32_t*>(at(span));
  }
  std::uint32_t* words(const MemorySpan& span) const {
    return static_cast<std::uint32_t*>(at(span));
  }
  void* scratch() const { return at(memory_.kernel_scratch); }

  // Flat buffers, from an element on.
  float* parameters(std::int64_t element = 0) const { return floats_of(parameters_, element); }
  float* gradients(std::int64_t element = 0) const { return floats_of(gradients_, element); }
  float* first_moments(std::int64_t element) const { return floats_of(first_moments_, element); }
  float* second_moments(std::int64_t element) const { return floats_of(second_moments_, element); }
  /// Returns the bfloat16 copy; null but with bf16.
  void* copy(std::int64_t element) const {
    return is_bf16() ? static_cast<char*>(copy_.data()) + 2 * element : nullptr;
  }

  float* parameter(TensorKind kind, int block = 0) const {
    return parameters(table_.tensor(kind, block).offset);
  }
  float* gradient(TensorKind kind, int block = 0) const {
    return gradients(table_.tensor(kind, block).offset);
  }
  /// Returns a parameter as products read it, in the type of activations.
  const void* operand(TensorKind kind, int block = 0) const {
    const std::int64_t offset = table_.tensor(kind, block).offset;
    return is_bf16() ? copy(offset) : parameters(offset);
  }

  /// Sets gradients, loss and norm to 0 again after products were planned.
  void clear_results();

  // The step under way.
  void begin(std::int64_t step, std::int64_t first_sample, double gradient_scale);
  double gradient_scale() const { return gradient_scale_; }
  /// Returns the dropout after the embedding and the projections into the residual stream.
  kernels::MatrixDropout stream_dropout(int place) const;
  kernels::AttentionDropout probability_dropout(int block) const;

  kernels::NormShape norm_shape() const;
  kernels::AttentionShape attention_shape() const;
  kernels::NormForward norm(const NormPlace& place, const MemorySpan& output) const;

  /// Calls `launch`, which enqueues the work and returns a cudaError_t. Throws CudaError.
  template <typename Launch>
  void run(const char* name, std::int64_t bytes, Launch launch,
           const std::source_location& where = std::source_location::current()) {
    StepObserver* const observer = options_.observer;
    if (observer != nullptr) observer->work_begins({.name = name, .memory = {bytes}});
    gpu::check(launch(stream_.get()), where);
    if (observer != nullptr) observer->work_ends();
  }

 private:
  static float* floats_of(const gpu::DeviceBuffer& buffer, std::int64_t element) {
    return static_cast<float*>(buffer.data()) + element;
  }
  void fill();

  GpuModelOptions options_;
  ParameterTable table_;
  GpuModelMemory memory_;
  gpu::Stream stream_;
  gpu::DeviceBuffer parameters_;
  gpu::DeviceBuffer gradients_;
  gpu::DeviceBuffer first_moments_;
  gpu::DeviceBuffer second_moments_;
  gpu::DeviceBuffer copy_;
  gpu::DeviceBuffer arena_;
  std::int64_t step_ = 0;
  std::int64_t first_sample_ = 0;
  double gradient_scale_ = 1.0;
};

/// Returns the most scratch that a kernel of such a step needs.
Bytes kernel_scratch(const GpuModelOptions& options);

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
