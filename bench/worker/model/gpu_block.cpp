#include "gpu_block.hpp"

#include "kernels/gpt2/bias_gradient.hpp"
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

}  // namespace

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
                                      state_.at(spans_.attention), state_.floats(spans_.log_sums),
                                      state_.words(spans_.kept), stream);
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

void Block::backward(const Report& report) {
  backward_feed_forward(report);
  backward_projection(report);
  backward_attention(report);
}

void Block::backward_feed_forward(const Report& report) {
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

void Block::backward_projection(const Report& report) {
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
        state_.floats(spans_.log_sums), state_.words(spans_.kept),
        state_.probability_dropout(index_), state_.floats(memory.attention_scratch),
        state_.at(memory.qkv_gradient), stream);
  });
}

void Block::backward_attention(const Report& report) {
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

}  // namespace linkgain::on_gpu
