#include "linkgain/model/gpu_model.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "gpu_block.hpp"
#include "gpu_ends.hpp"
#include "gpu_products.hpp"
#include "gpu_state.hpp"
#include "gpu_tokens.hpp"
#include "kernels/gpt2/adamw.hpp"
#include "kernels/gpt2/weights.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain {
namespace {

using on_gpu::Report;

constexpr std::int64_t kFloat = sizeof(float);

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
    const Report report = [&](TensorKind kind) {
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
  on_gpu::Tokens tokens_;
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
