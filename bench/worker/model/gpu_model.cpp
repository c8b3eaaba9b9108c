#include "linkgain/model/gpu_model.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu_state.hpp"
#include "kernels/gpt2/adamw.hpp"
#include "kernels/gpt2/column_sums.hpp"
#include "kernels/gpt2/cross_entropy.hpp"
#include "kernels/gpt2/embedding.hpp"
#include "kernels/gpt2/gelu.hpp"
#include "kernels/gpt2/token_rows.hpp"
#include "kernels/gpt2/weights.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/model/tokens.hpp"

namespace linkgain {
// The segments of a model: embedding, blocks, head. Tokens are where the model left them.
namespace on_gpu {
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

/// One block. What its halves bring back into the residual stream is added by the norm that comes
/// next: that of the second half by the next block's first or the final one. So is, backward, the
/// gradient of the branch before it made by a norm, and with it that of the bias which ends it:
/// contraction_bias of a block is final when the segment behind it has done its backward.
class Block {
 public:
  Block(State& state, Products& products, int index)
      : state_(state),
        products_(products),
        index_(index),
        spans_(state.memory().blocks[static_cast<std::size_t>(index)]) {}

  /// Goes from the stream in `input` (of the first block) or from `middle` and the branch of the
  /// block before, to `middle` and the branch.
  void forward() {
    const kernels::NormForward norm =
        state_.norm(attention_norm(index_, spans_), spans_.attention_input);
    if (index_ > 0) {
      const BlockSpans& before = state_.memory().blocks[static_cast<std::size_t>(index_) - 1];
      add_norm(state_, before.middle, kernels::feed_forward_dropout(index_ - 1), spans_.input,
               norm);
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

  /// Goes from the gradients of stream and branch to those of the stream and branch before.
  void backward(const GradientReport& report) {
    backward_feed_forward(report);
    backward_projection(report);
    backward_attention(report);
  }

 private:
  void forward_attention() {
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

  void forward_feed_forward() {
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

  void backward_feed_forward(const GradientReport& report) {
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
    const BranchPlace before{TensorKind::projection_bias, index_,
                             kernels::attention_dropout(index_)};
    norm_backward(state_, feed_forward_norm(index_, spans_), &before, false);
    report(TensorKind::feed_forward_norm_bias);
    report(TensorKind::feed_forward_norm_weight);
    report(TensorKind::projection_bias);
  }

  void backward_projection(const GradientReport& report) {
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

  void backward_attention(const GradientReport& report) {
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

  State& state_;
  Products& products_;
  int index_;
  BlockSpans spans_;
};

/// Puts the sum of token and position embeddings, with dropout, into the first block's input.
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

/// Takes the gradient of the stream, and adds to the gradient of token_embedding.
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

/// Computes the final norm, the logits, the loss, and the gradients of the logits in their place.
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

/// Goes to the gradients of stream and branch of the last block. Overwrites the gradient of
/// token_embedding, which is not final yet.
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

}  // namespace
}  // namespace on_gpu

namespace {

/// Steps that the host may be ahead of the device.
constexpr std::size_t kSlots = 4;

/// Brings the tokens of a step to the device, by way of page-locked buffers in turn, so that the
/// host may prepare steps that the device has not come to.
class Tokens {
 public:
  explicit Tokens(on_gpu::State& state) : state_(state) {
    const kernels::TokenRowsLayout layout{state.tokens()};
    const std::int64_t words = 2 * state.tokens() + layout.words();
    for (std::size_t i = 0; i < kSlots; ++i) {
      slots_.push_back({gpu::PinnedBuffer({words * 4}), gpu::Event(gpu::TimeStamps::left_out)});
      // Words of the list that a step has no need of are copied too.
      std::fill_n(static_cast<std::int32_t*>(slots_.back().memory.data()), words, 0);
    }
  }

  /// Enqueues copies of inputs, targets, and of the list of which rows each token stands in. Waits
  /// only while all buffers are still to be copied. Throws as take_apart() does.
  void bring(std::span<const std::int32_t> tokens) {
    Slot& slot = slots_[next_];
    slot.copied.synchronize();
    const std::int64_t count = state_.tokens();
    auto* const inputs = static_cast<std::int32_t*>(slot.memory.data());
    std::int32_t* const targets = inputs + count;
    std::int32_t* const list = targets + count;
    take_apart(tokens, state_.options().shape, state_.options().config.vocabulary, inputs, targets);
    kernels::list_token_rows(inputs, {count}, list);
    const GpuModelMemory& memory = state_.memory();
    gpu::enqueue_copy(state_.at(memory.inputs), inputs, {memory.inputs.bytes}, state_.stream());
    gpu::enqueue_copy(state_.at(memory.targets), targets, {memory.targets.bytes}, state_.stream());
    gpu::enqueue_copy(state_.at(memory.token_rows), list, {memory.token_rows.bytes},
                      state_.stream());
    slot.copied.record(state_.stream());
    next_ = (next_ + 1) % kSlots;
  }

 private:
  struct Slot {
    gpu::PinnedBuffer memory;
    gpu::Event copied;
  };

  on_gpu::State& state_;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;
};

class GpuModel : public TrainingModel {
 public:
  explicit GpuModel(const GpuModelOptions& options)
      : state_(options), products_(state_), tokens_(state_) {
    for (int i = 0; i < options.config.layers; ++i) blocks_.emplace_back(state_, products_, i);
    state_.clear_results();
    state_.stream().synchronize();
  }

  ~GpuModel() override {
    // What is under way still uses the memory. Errors were the last call's to tell.
    try {
      state_.stream().synchronize();
    } catch (const Error&) {
    }
  }

 private:
  const ParameterTable& do_table() const override { return state_.table(); }
  BatchShape do_shape() const override { return state_.options().shape; }
  FlatMemory do_parameters() override { return memory(state_.parameters(), count()); }
  FlatMemory do_gradients() override { return memory(state_.gradients(), count()); }
  FlatMemory do_squared_norm() override { return memory(squared_norm(), 1); }
  FlatMemory do_loss() override { return memory(state_.floats(state_.memory().loss), 1); }
  void* do_stream() override { return state_.stream().get(); }
  void do_synchronize() override { state_.stream().synchronize(); }
  std::vector<std::string> do_products() const override { return products_.chosen(); }

  void do_start_timing() override { timing_start_.record(state_.stream()); }

  Seconds do_stop_timing() override {
    timing_stop_.record(state_.stream());
    timing_stop_.synchronize();
    return gpu::elapsed(timing_start_, timing_stop_);
  }

  void do_begin_step(const StepInput& input) override {
    tokens_.bring(input.tokens);
    state_.begin(input.step, input.first_sample, input.gradient_scale);
  }

  void do_forward(int segment) override {
    if (segment == 0) {
      on_gpu::embedding_forward(state_);
    } else if (segment < last_segment()) {
      block(segment).forward();
    } else {
      on_gpu::head_forward(state_, products_);
    }
  }

  void do_backward(int segment, GradientListener& listener) override {
    const GradientReport report = [&](TensorKind kind) {
      listener.gradient_is_final(state_.table().index_of(kind, segment - 1));
    };
    if (segment == last_segment()) {
      on_gpu::head_backward(state_, products_, report);
    } else if (segment > 0) {
      block(segment).backward(report);
    } else {
      on_gpu::embedding_backward(state_, report);
    }
  }

  void do_parameters_changed(const ParameterRange& range) override {
    if (!state_.is_bf16()) return;
    state_.run("copy as bfloat16", 6 * range.count, [&](auto stream) {
      return kernels::copy_as_bfloat16(state_.parameters(range.offset), state_.copy(range.offset),
                                       range.count, stream);
    });
  }

  void do_clear_squared_norm() override {
    gpu::enqueue_fill(squared_norm(), 0, {kFloat}, state_.stream());
  }

  void do_add_squared_norm(const ParameterRange& range) override {
    state_.run("squared norm", kFloat * range.count, [&](auto stream) {
      return kernels::add_squared_norm(state_.gradients(range.offset), range.count, squared_norm(),
                                       state_.scratch(), stream);
    });
  }

  void do_update(const ParameterRange& range, const OptimizerStep& step) override {
    const kernels::AdamRange adam{
        state_.parameters(range.offset),    state_.gradients(range.offset),
        state_.first_moments(range.offset), state_.second_moments(range.offset),
        state_.copy(range.offset),          range.count};
    const kernels::AdamScalars scalars{step.learning_rate, step.beta1,       step.beta2,
                                       step.correction1,   step.correction2, step.epsilon,
                                       step.largest_norm};
    // Four numbers are read, three written.
    const std::int64_t bytes = 7 * kFloat + (state_.is_bf16() ? 2 : 0);
    state_.run("adam update", bytes * range.count, [&](auto stream) {
      return kernels::adam_update(adam, scalars, squared_norm(), stream);
    });
  }

  void do_read_parameters(const ParameterRange& range, double* values) override {
    read(state_.parameters(range.offset), range.count, values);
  }

  void do_read_gradients(const ParameterRange& range, double* values) override {
    read(state_.gradients(range.offset), range.count, values);
  }

  void do_write_parameters(const ParameterRange& range, const double* values) override {
    std::vector<float> rounded(values, values + range.count);
    gpu::enqueue_copy(state_.parameters(range.offset), rounded.data(), {kFloat * range.count},
                      state_.stream());
    do_parameters_changed(range);
    state_.stream().synchronize();
  }

  double do_read_loss() override {
    double loss = 0.0;
    read(state_.floats(state_.memory().loss), 1, &loss);
    return loss;
  }

  std::uint64_t do_parameter_hash() override { return hash_of(state_.parameters(), {0, count()}); }

  std::uint64_t do_gradient_hash(const ParameterRange& range) override {
    return hash_of(state_.gradients(range.offset), range);
  }

  std::uint64_t hash_of(const float* values, const ParameterRange& range) {
    std::uint64_t hash = 0;
    auto* const sum = static_cast<std::uint64_t*>(state_.at(state_.memory().hash));
    gpu::enqueue_fill(sum, 0, {sizeof(hash)}, state_.stream());
    state_.run("hash", kFloat * range.count, [&](auto stream) {
      return kernels::add_hash(values, range.offset, range.count, sum, stream);
    });
    gpu::enqueue_copy(&hash, sum, {sizeof(hash)}, state_.stream());
    state_.stream().synchronize();
    return hash;
  }

  void read(const float* from, std::int64_t elements, double* values) {
    std::vector<float> read(static_cast<std::size_t>(elements));
    gpu::enqueue_copy(read.data(), from, {kFloat * elements}, state_.stream());
    state_.stream().synchronize();
    std::ranges::copy(read, values);
  }

  static FlatMemory memory(float* data, std::int64_t elements) {
    return {data, DataType::float32, elements};
  }

  std::int64_t count() const { return state_.table().count(); }
  float* squared_norm() const { return state_.floats(state_.memory().squared_norm); }
  on_gpu::Block& block(int segment) { return blocks_[static_cast<std::size_t>(segment) - 1]; }

  on_gpu::State state_;
  on_gpu::Products products_;
  Tokens tokens_;
  std::vector<on_gpu::Block> blocks_;
  gpu::Event timing_start_;
  gpu::Event timing_stop_;
};

}  // namespace

kernels::TrainingPrecision precision_on_gpu(TrainingPrecision precision) {
  switch (precision) {
    case TrainingPrecision::fp32:
      return kernels::TrainingPrecision::fp32;
    case TrainingPrecision::tf32:
      return kernels::TrainingPrecision::tf32;
    case TrainingPrecision::bf16:
      return kernels::TrainingPrecision::bf16;
    case TrainingPrecision::fp64:
      break;
  }
  throw std::invalid_argument("no GPU trains in this precision");
}

std::unique_ptr<TrainingModel> make_gpu_model(const GpuModelOptions& options) {
  return std::make_unique<GpuModel>(options);
}

Bytes gpu_model_bytes(const GpuModelOptions& options) {
  const GpuModelMemory memory = gpu_model_memory(options.config, options.shape, options.precision,
                                                 on_gpu::kernel_scratch(options));
  return {memory.total().value + gpu::ProductSearch{}.workspace.value};
}

}  // namespace linkgain
