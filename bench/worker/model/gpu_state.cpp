#include "gpu_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "kernels/gpt2/adamw.hpp"
#include "kernels/gpt2/column_sums.hpp"
#include "kernels/gpt2/embedding.hpp"
#include "kernels/gpt2/weights.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpt2/training_parameters.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/model/training_model.hpp"

namespace linkgain::on_gpu {
namespace {

void refuse_channels(const Gpt2Config& config) {
  const int channels = config.channels;
  if (channels % kernels::kNormChannelStep != 0 || channels > kernels::kMostNormChannels) {
    throw UsageError(fmt::format("no kernel has {} channels", channels),
                     fmt::format("take a multiple of {}, at most {}", kernels::kNormChannelStep,
                                 kernels::kMostNormChannels));
  }
  const int head = config.head_channels();
  if (!kernels::has_attention(head)) {
    throw UsageError(fmt::format("no kernel has {} channels to a head", head),
                     "take heads of 32 or 64 channels");
  }
}

GpuModelOptions validated(const GpuModelOptions& options) {
  validate(options.config, options.shape);
  validate_dropout(options.dropout);
  refuse_channels(options.config);
  if (options.precision == kernels::TrainingPrecision::bf16 && !gpu::has_bfloat16()) {
    throw MachineError(
        fmt::format("this GPU has no arithmetic in bfloat16, which begins with sm_{}",
                    kFirstWithBfloat16),
        "train in fp32");
  }
  return options;
}

struct LayerTensors {
  TensorKind weight;
  TensorKind bias;
};

constexpr std::array<LayerTensors, kProjections> kTensors{
    LayerTensors{TensorKind::attention_weight, TensorKind::attention_bias},
    LayerTensors{TensorKind::projection_weight, TensorKind::projection_bias},
    LayerTensors{TensorKind::expansion_weight, TensorKind::expansion_bias},
    LayerTensors{TensorKind::contraction_weight, TensorKind::contraction_bias},
};

const LayerTensors& tensors_of(Projection projection) {
  return kTensors[static_cast<std::size_t>(projection)];
}

std::string product_text(const gpu::ProductPlan& plan) {
  return fmt::format("product {}: {} (choice {} of {})", description(plan.shape()),
                     plan.candidates()[plan.chosen()].algorithm, plan.chosen() + 1,
                     plan.candidates().size());
}

/// The row of a frequent token sums few large terms, where it is the target, and thousands of small
/// ones of one sign. In strict single precision one chain of 4096 tokens loses those that are below
/// half a unit in the last place of what is there, which made 1e-5 of such rows; two chains lose
/// almost none. Products of fewer bits have larger errors than that.
constexpr std::int64_t kLongestChain = 2048;

/// Counts the tokens that each part of the head's weight gradient sums over.
std::vector<std::int64_t> parts_of_sum(const State& state) {
  const std::int64_t all = state.tokens();
  const bool is_strict = state.options().precision == kernels::TrainingPrecision::fp32;
  const std::int64_t longest = is_strict ? kLongestChain : all;
  std::vector<std::int64_t> parts;
  for (std::int64_t first = 0; first < all; first += longest) {
    parts.push_back(std::min(longest, all - first));
  }
  return parts;
}

}  // namespace

Bytes kernel_scratch(const GpuModelOptions& options) {
  const Gpt2Config& config = options.config;
  const kernels::EmbeddingShape embedding{options.shape.tokens(), options.shape.length,
                                          config.channels};
  return {std::max({kernels::column_sums_scratch(config.hidden_channels()),
                    kernels::norm_backward_scratch(config.channels),
                    kernels::token_embedding_backward_scratch(embedding),
                    kernels::squared_norm_scratch()})};
}

State::State(const GpuModelOptions& options)
    : options_(validated(options)),
      table_(options.config),
      memory_(gpu_model_memory(options.config, options.shape, options.precision,
                               kernel_scratch(options))),
      parameters_(memory_.flat),
      gradients_(memory_.flat),
      first_moments_(memory_.flat),
      second_moments_(memory_.flat),
      copy_(memory_.copy),
      arena_(memory_.arena) {
  fill();
}

void State::fill() {
  for (const gpu::DeviceBuffer* buffer : {&parameters_, &first_moments_, &second_moments_}) {
    gpu::enqueue_fill(buffer->data(), 0, buffer->size(), stream_);
  }
  // Matrix products are timed on what stands here, and numbers that are none are not typical: these
  // bytes are about 0.01 in both types of activations.
  gpu::enqueue_fill(arena_.data(), 0x3C, arena_.size(), stream_);
  const std::span<const ParameterTensor> tensors = table_.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ParameterTensor& tensor = tensors[i];
    gpu::check(kernels::fill_initial_weights(
        parameters(tensor.offset), tensor.count(), options_.seed, static_cast<int>(i),
        initial_distribution(options_.config, tensor.kind), stream_.get()));
  }
  if (!is_bf16()) return;
  // Up to the end: rows behind the token embedding have to be finite.
  const std::int64_t all = memory_.flat.value / static_cast<std::int64_t>(sizeof(float));
  gpu::check(kernels::copy_as_bfloat16(parameters(), copy(0), all, stream_.get()));
}

void State::clear_results() {
  gpu::enqueue_fill(gradients_.data(), 0, gradients_.size(), stream_);
  for (const MemorySpan& span : {memory_.loss, memory_.squared_norm}) {
    gpu::enqueue_fill(at(span), 0, {span.bytes}, stream_);
  }
}

void State::begin(std::int64_t step, std::int64_t first_sample, double gradient_scale) {
  step_ = step;
  first_sample_ = first_sample;
  gradient_scale_ = gradient_scale;
}

kernels::MatrixDropout State::stream_dropout(int place) const {
  return {kernels::dropout_mask(options_.seed, step_, place, options_.dropout),
          first_sample_ * options_.shape.length * channels()};
}

kernels::AttentionDropout State::probability_dropout(int block) const {
  const kernels::DropoutMask mask = kernels::dropout_mask(
      options_.seed, step_, kernels::probability_dropout(block), options_.dropout);
  const std::int64_t length = options_.shape.length;
  return {mask.threshold != 0, mask, first_sample_ * options_.config.heads * length * length};
}

kernels::NormShape State::norm_shape() const {
  return {tokens(), channels(), static_cast<float>(kNormEpsilon)};
}

kernels::AttentionShape State::attention_shape() const {
  return {options_.shape.samples, options_.shape.length, options_.config.heads,
          options_.config.head_channels()};
}

kernels::NormForward State::norm(const NormPlace& place, const MemorySpan& output) const {
  return {parameter(place.weight, place.block), parameter(place.bias, place.block), at(output),
          floats(place.spans.mean), floats(place.spans.inverse_deviation)};
}

Products::Products(State& state)
    : state_(state),
      products_(
          {.measure = state.options().measures_products, .chosen = state.options().products}) {
  for (std::size_t i = 0; i < kProjections; ++i) blocks_[i] = plans_of(static_cast<Projection>(i));
  head_ = plans_of_head();
  for (const std::int64_t tokens : parts_of_sum(state_)) {
    head_weight_parts_.push_back(plan_of_head_weight(tokens, !head_weight_parts_.empty()));
  }
}

const gpu::ProductPlan* Products::plan(gpu::ProductShape shape) {
  shape.precision = state_.options().precision;
  // Gradients of weights have two matrices of activations and go where gradients are; the others
  // have one beside a weight and go into the arena, behind that one.
  const bool is_weight_gradient = shape.left_transposed;
  const std::int64_t left = state_.activation_bytes(
      is_weight_gradient ? std::max(shape.left_stride, shape.rows) : shape.inner);
  const MemorySpan behind{round_up(left, kSpanAlignment), 0};
  const void* weights = state_.operand(TensorKind::token_embedding);
  gpu::ProductOperands scratch{
      .left = state_.at({}), .right = weights, .bias = weights, .result = state_.at(behind)};
  if (is_weight_gradient) {
    scratch.right = state_.at(behind);
    scratch.result = state_.gradients();
  } else if (state_.is_bf16()) {
    shape.result = DataType::bfloat16;
  }
  return &products_.plan(shape, scratch, state_.stream());
}

Products::Plans Products::plans_of(Projection projection) {
  const ParameterTensor& weight = state_.table().tensor(tensors_of(projection).weight);
  const std::int64_t tokens = state_.tokens();
  return {.forward = plan(
              {.rows = tokens, .columns = weight.columns, .inner = weight.rows, .has_bias = true}),
          .weight_gradient = plan({.rows = weight.rows,
                                   .columns = weight.columns,
                                   .inner = tokens,
                                   .left_transposed = true}),
          .input_gradient = plan({.rows = tokens,
                                  .columns = weight.rows,
                                  .inner = weight.columns,
                                  .right_transposed = true})};
}

Products::Plans Products::plans_of_head() {
  const std::int64_t tokens = state_.tokens();
  const std::int64_t padded = padded_vocabulary(state_.options().config);
  return {.forward = plan({.rows = tokens,
                           .columns = padded,
                           .inner = state_.channels(),
                           .right_transposed = true}),
          .input_gradient = plan({.rows = tokens, .columns = state_.channels(), .inner = padded})};
}

const gpu::ProductPlan* Products::plan_of_head_weight(std::int64_t tokens, bool adds) {
  const std::int64_t padded = padded_vocabulary(state_.options().config);
  return plan({.rows = padded,
               .columns = state_.channels(),
               .inner = tokens,
               .left_transposed = true,
               .left_stride = padded,
               .adds = adds});
}

void Products::run(const gpu::ProductPlan& plan, const gpu::ProductOperands& operands) {
  StepObserver* const observer = state_.options().observer;
  if (observer != nullptr) {
    observer->work_begins({.name = product_text(plan), .operations = plan.shape().operations()});
  }
  products_.multiply(plan, operands, state_.stream());
  if (observer != nullptr) observer->work_ends();
}

void Products::forward(Projection projection, int block, const void* input, void* output) {
  const LayerTensors& tensors = tensors_of(projection);
  run(*blocks_[static_cast<std::size_t>(projection)].forward,
      {.left = input,
       .right = state_.operand(tensors.weight, block),
       .bias = state_.operand(tensors.bias, block),
       .result = output});
}

void Products::weight_gradient(Projection projection, int block, const void* input,
                               const void* output_gradient) {
  run(*blocks_[static_cast<std::size_t>(projection)].weight_gradient,
      {.left = input,
       .right = output_gradient,
       .result = state_.gradient(tensors_of(projection).weight, block)});
}

void Products::input_gradient(Projection projection, int block, const void* output_gradient,
                              void* input_gradient) {
  run(*blocks_[static_cast<std::size_t>(projection)].input_gradient,
      {.left = output_gradient,
       .right = state_.operand(tensors_of(projection).weight, block),
       .result = input_gradient});
}

void Products::logits(const void* input, void* logits) {
  run(*head_.forward,
      {.left = input, .right = state_.operand(TensorKind::token_embedding), .result = logits});
}

void Products::logits_input_gradient(const void* gradient, void* input_gradient) {
  run(*head_.input_gradient, {.left = gradient,
                              .right = state_.operand(TensorKind::token_embedding),
                              .result = input_gradient});
}

void Products::logits_weight_gradient(const void* input, const void* gradient) {
  std::int64_t first = 0;
  for (const gpu::ProductPlan* part : head_weight_parts_) {
    const auto row = [&](const void* matrix, std::int64_t columns) {
      return static_cast<const char*>(matrix) +
             first * state_.activation_bytes(columns) / state_.tokens();
    };
    run(*part, {.left = row(gradient, part->shape().rows),
                .right = row(input, state_.channels()),
                .result = state_.gradient(TensorKind::token_embedding)});
    first += part->shape().inner;
  }
}

}  // namespace linkgain::on_gpu
