#include "gpu_ends.hpp"

#include "kernels/gpt2/cross_entropy.hpp"
#include "kernels/gpt2/embedding.hpp"

namespace linkgain::on_gpu {
namespace {

kernels::EmbeddingShape embedding_shape(const State& state) {
  return {state.tokens(), state.options().shape.length, state.channels()};
}

NormPlace final_norm(const GpuModelMemory& memory) {
  return {TensorKind::final_norm_weight, TensorKind::final_norm_bias, 0, memory.final_input,
          memory.final_norm};
}

}  // namespace

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

void embedding_backward(State& state, const Report& report) {
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

void head_backward(State& state, Products& products, const Report& report) {
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
