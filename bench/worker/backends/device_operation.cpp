#include "device_operation.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/timing/warm_up.hpp"
#include "kernels/verify/verification.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/runtime/data_mapping.hpp"

namespace linkgain {
namespace {

cudaError_t check_part(const void* output, const kernels::Pattern& pattern,
                       const ExpectedPart& part, kernels::CheckResult* result,
                       cudaStream_t stream) {
  const std::int64_t offset = part.begin * kernels::traits_of(pattern.type).bytes;
  const void* begin = static_cast<const char*>(output) + offset;
  if (part.source == kReduced) {
    return kernels::check_reduction(begin, part.count, part.first_index, pattern, result, stream);
  }
  return kernels::check_input(begin, part.count, part.first_index, pattern, part.source, result,
                              stream);
}

void add(Verification& total, const kernels::CheckResult& found, const ExpectedPart& part) {
  total.wrong += static_cast<std::int64_t>(found.wrong);
  total.largest_error = std::max(total.largest_error, found.largest_error);
  if (found.wrong == 0 || !total.first_wrong.empty()) return;
  const std::int64_t in_part =
      static_cast<std::int64_t>(found.first_wrong_index) - part.first_index;
  total.first_wrong = fmt::format("element {}: {} instead of {}", part.begin + in_part,
                                  found.first_got, found.first_expected);
}

/// Compares every element of the outputs, each slot's with the data of so many operations later,
/// on the device with what must stand there; each output has these parts. Blocks until it is done.
/// Throws CudaError.
Verification check_on_device(const std::vector<const void*>& outputs,
                             const kernels::Pattern& pattern,
                             const std::vector<ExpectedPart>& parts, const gpu::Stream& stream) {
  // One result for each part: indices of different parts must not be mixed up.
  std::vector<kernels::CheckResult> found(parts.size());
  const std::size_t bytes = found.size() * sizeof(kernels::CheckResult);
  const gpu::DeviceBuffer memory(Bytes{static_cast<std::int64_t>(bytes)});
  auto* results = static_cast<kernels::CheckResult*>(memory.data());
  Verification total;
  total.bound = pattern.relative_error;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    gpu::check(kernels::clear_result(results + i, stream.get()));
    for (std::size_t slot = 0; slot < outputs.size(); ++slot) {
      const kernels::Pattern own = later_pattern(pattern, static_cast<std::int64_t>(slot));
      gpu::check(check_part(outputs[slot], own, parts[i], results + i, stream.get()));
      total.checked += parts[i].count;
    }
  }
  if (parts.empty()) return total;
  gpu::check(cudaMemcpyAsync(found.data(), results, bytes, cudaMemcpyDeviceToHost, stream.get()));
  stream.synchronize();
  for (std::size_t i = 0; i < parts.size(); ++i) add(total, found[i], parts[i]);
  return total;
}

/// What a batch takes at least: a difference that noise makes 0 or less is still a time.
constexpr double kLeastTime = 1e-9;

class DeviceOperation : public Operation {
 public:
  DeviceOperation(const Case& c, const BufferPlan& plan, const NcclContext& context,
                  std::unique_ptr<DeviceCall> call)
      : definition_(c),
        plan_(plan),
        context_(context),
        pattern_(verification_pattern(c)),
        call_(std::move(call)) {}

 private:
  void do_prepare() override {
    call_->prepare();
    call_->fill(pattern_);
    synchronize();
  }

  void do_release() override {
    context_.stream->synchronize();
    call_->release();
  }

  void do_warm_up() override {
    call_->enqueue(0);
    call_->finish();
    synchronize();
    if (definition_.launch != LaunchMode::graph) return;
    graph_ = capture([this](std::int64_t slot) { call_->enqueue(slot); });
    graph_->launch(*context_.stream);
    if (call_->has_surroundings()) {
      surroundings_ = capture([this](std::int64_t slot) { call_->enqueue_surroundings(slot); });
      surroundings_->launch(*context_.stream);
    }
    synchronize();
  }

  /// Captures a graph of turns, one after the other over the slots.
  gpu::GraphExecutable capture(const std::function<void(std::int64_t slot)>& turn) {
    return gpu::capture(*context_.stream, [&] {
      const int turns = plan_.operations_per_graph / plan_.operations_per_slot;
      for (std::int64_t i = 0; i < turns; ++i) turn(i % plan_.slots);
      call_->finish();
    });
  }

  std::optional<Seconds> do_time_batch(std::int64_t operations) override {
    const Seconds time = context_.timer->time(
        context_.communicator, *context_.stream, [&] { enqueue(plan_.granularity()); },
        [&] { launch(operations - plan_.granularity()); });
    require_peers();
    if (!call_->takes_part()) return std::nullopt;
    busy_time_ = time;
    if (!surroundings_) return time;
    const Seconds around = time_surroundings(operations);
    busy_time_ = Seconds{time.value + around.value};
    return Seconds{std::max(time.value - around.value, kLeastTime)};
  }

  std::optional<Seconds> do_busy_time() const override { return busy_time_; }

  /// Times what stands around so many operations.
  Seconds time_surroundings(std::int64_t operations) {
    const auto launch = [&](std::int64_t times) {
      for (std::int64_t i = 0; i < times; ++i) surroundings_->launch(*context_.stream);
    };
    return context_.timer->time(
        context_.communicator, *context_.stream, [&] { launch(1); },
        [&] { launch(operations / plan_.granularity() - 1); });
  }

  void do_run(std::int64_t operations) override {
    launch(operations);
    synchronize();
  }

  Verification do_verify(Spoil spoil) override {
    const std::vector<ExpectedPart> parts = expected_parts(definition_, context_.rank);
    const std::int64_t slots = graph_ ? plan_.slots : verified_burst(definition_, plan_);
    std::optional<gpu::DeviceBuffer> earlier;
    if (spoil == Spoil::stale && !parts.empty() && slots == 1) earlier = copy_of_output(0);
    pattern_ = later_pattern(pattern_, plan_.slots);
    call_->fill(pattern_);
    // Some ranks reach into others' buffers, which these must have filled, and have not yet
    // checked.
    context_.timer->line_up(context_.communicator, *context_.stream);
    run_burst(slots);
    context_.timer->line_up(context_.communicator, *context_.stream);
    synchronize();
    if (const auto own = call_->check(spoil != Spoil::nothing)) return *own;
    if (parts.empty()) return {};
    if (spoil == Spoil::stale) {
      const void* before = earlier ? earlier->data() : call_->output(slots - 2);
      gpu::enqueue_copy(call_->output(slots - 1), before,
                        rank_buffers(definition_, context_.rank).output, *context_.stream);
    } else if (spoil != Spoil::nothing) {
      spoil_output(slots - 1, spoil == Spoil::last ? parts.back() : parts.front(), spoil);
    }
    std::vector<const void*> outputs;
    for (std::int64_t slot = 0; slot < slots; ++slot) outputs.push_back(call_->output(slot));
    return check_on_device(outputs, pattern_, parts, *context_.stream);
  }

  std::int64_t do_granularity() const override { return plan_.granularity(); }
  Execution do_execution() const override {
    Execution execution;
    execution.operations_per_graph = plan_.operations_per_graph;
    execution.buffer_slots = plan_.slots;
    execution.cold_data = plan_.cold;
    execution.form = call_->form();
    execution.through_host = call_->through_host();
    return execution;
  }

  std::optional<TransferPlan> do_plan() const override { return call_->plan(); }

  void synchronize() const {
    context_.stream->synchronize();
    require_peers();
  }

  /// Requires that no kernel waited in vain for another rank: what it left is no result.
  void require_peers() const {
    if (context_.waits != nullptr) context_.waits->require_none();
  }

  /// Enqueues operations; all of an operation is in the stream after finish().
  void enqueue(std::int64_t operations) {
    for (std::int64_t done = 0; done < operations; done += plan_.granularity()) {
      if (graph_) {
        graph_->launch(*context_.stream);
        continue;
      }
      call_->enqueue(next_slot_);
      next_slot_ = next_slot_ + 1 == plan_.slots ? 0 : next_slot_ + 1;
    }
  }

  void launch(std::int64_t operations) {
    enqueue(operations);
    call_->finish();
  }

  /// Runs the turns that are verified, from slot 0 on; this rank waits before each, or before their
  /// graph.
  void run_burst(std::int64_t slots) {
    next_slot_ = 0;
    const std::int64_t turns = graph_ ? 1 : slots;
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      const Seconds delay = verification_delay(later_pattern(pattern_, turn), context_.rank);
      if (delay.value > 0.0) {
        gpu::check(kernels::warm_up(context_.stream->get(), delay.value * 1e6, 1));
      }
      enqueue(plan_.granularity());
    }
    call_->finish();
  }

  gpu::DeviceBuffer copy_of_output(std::int64_t slot) const {
    gpu::DeviceBuffer copy(rank_buffers(definition_, context_.rank).output);
    gpu::enqueue_copy(copy.data(), call_->output(slot), copy.size(), *context_.stream);
    return copy;
  }

  void spoil_output(std::int64_t slot, const ExpectedPart& part, Spoil spoil) const {
    const int size = size_of(definition_.type);
    char* begin = static_cast<char*>(call_->output(slot)) + part.begin * size;
    std::vector<std::byte> bytes(static_cast<std::size_t>(part.count * size));
    gpu::enqueue_copy(bytes.data(), begin, Bytes{part.count * size}, *context_.stream);
    spoil_part(bytes, Bytes{size}, spoil);  // pageable memory: the copy is done by now
    gpu::enqueue_copy(begin, bytes.data(), Bytes{part.count * size}, *context_.stream);
    if (spoil != Spoil::wrong_rank) return;
    const int wrong_source = (part.source + 1) % definition_.ranks;
    gpu::check(kernels::fill_input(begin, part.count, 0, later_pattern(pattern_, slot),
                                   wrong_source, context_.stream->get()));
  }

  Case definition_;
  BufferPlan plan_;
  NcclContext context_;
  kernels::Pattern pattern_;  ///< of what was last filled into slot 0
  std::unique_ptr<DeviceCall> call_;
  std::optional<gpu::GraphExecutable> graph_;
  std::optional<gpu::GraphExecutable> surroundings_;  ///< as many as graph_ has
  std::optional<Seconds> busy_time_;
  std::int64_t next_slot_ = 0;
};

}  // namespace

std::unique_ptr<Operation> make_device_operation(const Case& c, const BufferPlan& plan,
                                                 const NcclContext& context,
                                                 std::unique_ptr<DeviceCall> call) {
  return std::make_unique<DeviceOperation>(c, plan, context, std::move(call));
}

}  // namespace linkgain
