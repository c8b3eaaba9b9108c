#include "gpu_segments.hpp"

#include "kernels/gpt2/column_sums.hpp"
#include "kernels/gpt2/cross_entropy.hpp"
#include "kernels/gpt2/embedding.hpp"
#include "kernels/gpt2/gelu.hpp"

namespace linkgain::on_gpu {
namespace {

constexpr NormPlace attention_norm(int block, const BlockSpans& spans) {
  return {TensorKind::attention_norm_weight, TensorKind::attention_norm_bias, block, spans.input,
          spans.attention_norm};
}

constexpr NormPlace feed_forward_norm(int block, const BlockSpans& spans) {
  return {TensorKind::feed_forward_norm_weight, TensorKind::feed_forward_norm_bias, block,
          spans.middle, spans.feed_forward_norm};
}

kernels::EmbeddingShape embedding_shape(const State& state) {
  return {state.tokens(), state.options().shape.length, state.channels()};
}

NormPlace final_norm(const GpuModelMemory& memory) {
  return {TensorKind::final_norm_weight, TensorKind::final_norm_bias, 0, memory.final_input,
          memory.final_norm};
}

/// Enqueues a norm that takes the stream `before` together with State's branch (the one of `place`)
/// and leaves their sum in `sum`.
void add_norm(State& state, const MemorySpan& before, int place, const MemorySpan& sum,
              const kernels::NormForward& norm) {
  const int channels = state.channels();
  const kernels::Branch branch{state.at(state.memory().branch), state.stream_dropout(place)};
  state.run("norm forward with sum",
            2 * state.float_bytes(channels) + 2 * state.activation_bytes(channels),
            [&](auto stream) {
              return kernels::add_norm_forward(state.activations(), state.norm_shape(),
                                               state.floats(before), branch, state.floats(sum),
                                               norm, stream);
            });
}

/// What ends in the stream just before a norm: the bias of its last projection and its dropout.
struct BranchPlace {
  TensorKind bias;
  int block;
  int place;
};

/// Enqueues backward of a norm whose output's gradient is in State's branch; leaves there the
/// gradient of the branch before it, if there is one.
void norm_backward(State& state, const NormPlace& norm, const BranchPlace* branch,
                   bool overwrites_stream) {
  const kernels::NormBackward backward{
      .output_gradient = state.at(state.memory().branch),
      .input = state.floats(norm.input),
      .mean = state.floats(norm.spans.mean),
      .inverse_deviation = state.floats(norm.spans.inverse_deviation),
      .weight = state.parameter(norm.weight, norm.block),
      .stream_gradient = state.floats(state.memory().stream_gradient),
      .overwrites_stream = overwrites_stream,
      .weight_gradient = state.gradient(norm.weight, norm.block),
      .bias_gradient = state.gradient(norm.bias, norm.block)};
  kernels::BranchGradient gradient{nullptr, kernels::no_dropout(), nullptr};
  if (branch != nullptr) {
    gradient = {state.at(state.memory().branch), state.stream_dropout(branch->place),
                state.gradient(branch->bias, branch->block)};
  }
  const int channels = state.channels();
  state.run("norm backward",
            (overwrites_stream ? 2 : 3) * state.float_bytes(channels) +
                (branch != nullptr ? 2 : 1) * state.activation_bytes(channels),
            [&](auto stream) {
              return kernels::norm_backward(state.activations(), state.norm_shape(), backward,
                                            gradient, state.scratch(), stream);
            });
}

}  // namespace

Block::Block(State& state, Products& products, int index)
    : state_(state),
      products_(products),
      index_(index),
      spans_(state.memory().blocks[static_cast<std::size_t>(index)]) {}

void Block::forward() {
  const kernels::NormForward norm =
      state_.norm(attention_norm(index_, spans_), spans_.attention_input);
  if (index_ > 0) {
    const BlockSpans& before = state_.memory().blocks[static_cast<std::size_t>(index_) - 1];
    add_norm(state_, before.middle, kernels::feed_forward_dropout(index_ - 1), spans_.input, norm);
  } else {
    const int channels = state_.channels();
    state_.run("norm forward", state_.float_bytes(channels) + state_.activation_bytes(channels),
               [&](auto stream) {
                 return kernels::norm_forward(state_.activations(), state_.norm_shape(),
                                              state_.floats(spans_.input), norm, stream);
               });
  }
  forward_attention();
  forward_feed_forward();
}

void Block::forward_attention() {
  products_.forward(Projection::attention, index_, state_.at(spans_.attention_input),
                    state_.at(spans_.qkv));
  state_.run("attention forward", 0, [&](auto stream) {
    return kernels::attention_forward(state_.options().precision, state_.attention_shape(),
                                      state_.at(spans_.qkv), state_.probability_dropout(index_),
                                      state_.at(spans_.attention), state_.floats(spans_.lse),
                                      state_.words(spans_.dropout_bits), stream);
  });
  products_.forward(Projection::projection, index_, state_.at(spans_.attention),
                    state_.at(state_.memory().branch));
}

void Block::forward_feed_forward() {
  add_norm(state_, spans_.input, kernels::attention_dropout(index_), spans_.middle,
           state_.norm(feed_forward_norm(index_, spans_), spans_.feed_forward_input));
  products_.forward(Projection::expansion, index_, state_.at(spans_.feed_forward_input),
                    state_.at(spans_.expanded));
  const int hidden = state_.options().config.hidden_channels();
  state_.run("gelu forward", 2 * state_.activation_bytes(hidden), [&](auto stream) {
    return kernels::gelu_forward(state_.activations(), state_.at(spans_.expanded),
                                 state_.at(spans_.activated), state_.tokens() * hidden, stream);
  });
  products_.forward(Projection::contraction, index_, state_.at(spans_.activated),
                    state_.at(state_.memory().branch));
}

void Block::backward(const GradientReport& report) {
  backward_feed_forward(report);
  backward_projection(report);
  backward_attention(report);
}

void Block::backward_feed_forward(const GradientReport& report) {
  void* const branch = state_.at(state_.memory().branch);
  void* const gradient = state_.at(state_.memory().wide_gradient);
  report(TensorKind::contraction_bias);
  products_.weight_gradient(Projection::contraction, index_, state_.at(spans_.activated), branch);
  report(TensorKind::contraction_weight);
  products_.input_gradient(Projection::contraction, index_, branch, gradient);
  const int hidden = state_.options().config.hidden_channels();
  state_.run("gelu backward", 3 * state_.activation_bytes(hidden), [&](auto stream) {
    return kernels::gelu_backward(
        state_.activations(), state_.tokens(), hidden, state_.at(spans_.expanded), gradient,
        state_.gradient(TensorKind::expansion_bias, index_), state_.scratch(), stream);
  });
  report(TensorKind::expansion_bias);
  products_.weight_gradient(Projection::expansion, index_, state_.at(spans_.feed_forward_input),
                            gradient);
  report(TensorKind::expansion_weight);
  products_.input_gradient(Projection::expansion, index_, gradient, branch);
  const BranchPlace before{TensorKind::projection_bias, index_, kernels::attention_dropout(index_)};
  norm_backward(state_, feed_forward_norm(index_, spans_), &before, false);
  report(TensorKind::feed_forward_norm_bias);
  report(TensorKind::feed_forward_norm_weight);
  report(TensorKind::projection_bias);
}

void Block::backward_projection(const GradientReport& report) {
  const GpuModelMemory& memory = state_.memory();
  void* const branch = state_.at(memory.branch);
  products_.weight_gradient(Projection::projection, index_, state_.at(spans_.attention), branch);
  report(TensorKind::projection_weight);
  products_.input_gradient(Projection::projection, index_, branch,
                           state_.at(memory.attention_gradient));
  state_.run("attention backward", 0, [&](auto stream) {
    return kernels::attention_backward(
        state_.options().precision, state_.attention_shape(), state_.at(spans_.qkv),
        state_.at(spans_.attention), state_.at(memory.attention_gradient),
        state_.floats(spans_.lse), state_.words(spans_.dropout_bits),
        state_.probability_dropout(index_), state_.floats(memory.attention_scratch),
        state_.at(memory.qkv_gradient), state_.options().bound, stream);
  });
}

void Block::backward_attention(const GradientReport& report) {
  const GpuModelMemory& memory = state_.memory();
  void* const gradient = state_.at(memory.qkv_gradient);
  const int columns = 3 * state_.channels();
  state_.run("column sums", state_.activation_bytes(columns), [&](auto stream) {
    return kernels::column_sums(state_.activations(), state_.tokens(), columns, gradient,
                                state_.gradient(TensorKind::attention_bias, index_),
                                state_.scratch(), stream);
  });
  report(TensorKind::attention_bias);
  products_.weight_gradient(Projection::attention, index_, state_.at(spans_.attention_input),
                            gradient);
  report(TensorKind::attention_weight);
  products_.input_gradient(Projection::attention, index_, gradient, state_.at(memory.branch));
  const BranchPlace before{TensorKind::contraction_bias, index_ - 1,
                           kernels::feed_forward_dropout(index_ - 1)};
  norm_backward(state_, attention_norm(index_, spans_), index_ > 0 ? &before : nullptr, false);
  report(TensorKind::attention_norm_bias);
  report(TensorKind::attention_norm_weight);
}

void embedding_forward(State& state) {
  const GpuModelMemory& memory = state.memory();
  state.run("embedding forward", 2 * state.float_bytes(state.channels()), [&](auto stream) {
    return kernels::embedding_forward(embedding_shape(state), state.integers(memory.inputs),
                                      state.parameter(TensorKind::token_embedding),
                                      state.parameter(TensorKind::position_embedding),
                                      state.stream_dropout(kernels::kEmbeddingDropout),
                                      state.floats(memory.blocks.front().input), stream);
  });
}

void embedding_backward(State& state, const GradientReport& report) {
  const GpuModelMemory& memory = state.memory();
  const kernels::MatrixDropout dropout = state.stream_dropout(kernels::kEmbeddingDropout);
  const float* const gradient = state.floats(memory.stream_gradient);
  const ParameterTensor& positions = state.table().tensor(TensorKind::position_embedding);
  state.run("position embedding backward",
            state.float_bytes(state.channels()) + 4 * positions.count(), [&](auto stream) {
              return kernels::position_embedding_backward(
                  embedding_shape(state), gradient, dropout, positions.rows,
                  state.gradient(TensorKind::position_embedding), stream);
            });
  report(TensorKind::position_embedding);
  // Rows of tokens that differ are read and written; how many do is not known here.
  state.run("token embedding backward", state.float_bytes(state.channels()), [&](auto stream) {
    return kernels::token_embedding_backward(
        embedding_shape(state), state.integers(memory.token_rows), gradient, dropout,
        state.gradient(TensorKind::token_embedding), state.scratch(), stream);
  });
  report(TensorKind::token_embedding);
}

void head_forward(State& state, Products& products) {
  const GpuModelMemory& memory = state.memory();
  add_norm(state, memory.blocks.back().middle,
           kernels::feed_forward_dropout(state.options().config.layers - 1), memory.final_input,
           state.norm(final_norm(memory), memory.final_output));
  products.logits(state.at(memory.final_output), state.at(memory.logits));
  const Gpt2Config& config = state.options().config;
  const kernels::LossShape shape{state.tokens(), config.vocabulary, padded_vocabulary(config)};
  const double scale = state.gradient_scale() / static_cast<double>(state.tokens());
  state.run("token loss", 2 * state.activation_bytes(shape.padded), [&](auto stream) {
    return kernels::token_loss(state.activations(), shape, state.integers(memory.targets),
                               static_cast<float>(scale), state.at(memory.logits),
                               state.floats(memory.row_losses), state.floats(memory.loss), stream);
  });
}

void head_backward(State& state, Products& products, const GradientReport& report) {
  const GpuModelMemory& memory = state.memory();
  void* const gradient = state.at(memory.logits);
  products.logits_input_gradient(gradient, state.at(memory.branch));
  const int last = state.options().config.layers - 1;
  const BranchPlace branch{TensorKind::contraction_bias, last, kernels::feed_forward_dropout(last)};
  norm_backward(state, final_norm(memory), &branch, true);
  report(TensorKind::final_norm_bias);
  report(TensorKind::final_norm_weight);
  products.logits_weight_gradient(state.at(memory.final_output), gradient);
}

}  // namespace linkgain::on_gpu
