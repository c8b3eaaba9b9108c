#include "linkgain/model/gpu_model.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu_products.hpp"
#include "gpu_segments.hpp"
#include "gpu_state.hpp"
#include "kernels/gpt2/adamw.hpp"
#include "kernels/gpt2/token_rows.hpp"
#include "kernels/gpt2/weights.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/model/tokens.hpp"

namespace linkgain {
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
    std::copy(read.begin(), read.end(), values);
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
