#include "gpu_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "initial_weights.hpp"
#include "kernels/gpt2/adamw.hpp"
#include "kernels/gpt2/column_sums.hpp"
#include "kernels/gpt2/embedding.hpp"
#include "kernels/gpt2/weights.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/buffer.hpp"
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
    throw MachineError("this GPU has no arithmetic on bfloat16 (that begins with sm_80, Ampere)",
                       "train in fp32");
  }
  return options;
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

}  // namespace linkgain::on_gpu
