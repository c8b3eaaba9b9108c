#include "gpu_tokens.hpp"

#include <algorithm>

#include "kernels/gpt2/token_rows.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "step_tokens.hpp"

namespace linkgain::on_gpu {
namespace {

/// Steps that the host may be ahead of the device.
constexpr std::size_t kSlots = 4;

}  // namespace

Tokens::Tokens(State& state) : state_(state) {
  const kernels::TokenRowsLayout layout{state.tokens()};
  const std::int64_t words = 2 * state.tokens() + layout.words();
  for (std::size_t i = 0; i < kSlots; ++i) {
    slots_.push_back({gpu::PinnedBuffer({words * 4}), gpu::Event(gpu::TimeStamps::left_out)});
    // Words of the list that a step has no need of are copied too.
    std::fill_n(static_cast<std::int32_t*>(slots_.back().memory.data()), words, 0);
  }
}

void Tokens::bring(std::span<const std::int32_t> tokens) {
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
  gpu::enqueue_copy(state_.at(memory.token_rows), list, {memory.token_rows.bytes}, state_.stream());
  slot.copied.record(state_.stream());
  next_ = (next_ + 1) % kSlots;
}

}  // namespace linkgain::on_gpu
