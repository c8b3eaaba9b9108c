#include "device_operation.hpp"

#include <cuda_runtime_api.h>

#include <utility>
#include <vector>

#include "data_mapping.hpp"
#include "device_check.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain {

DeviceOperation::DeviceOperation(const Case& c, const BufferPlan& plan, const NcclContext& context,
                                 std::unique_ptr<DeviceCall> call)
    : definition_(c),
      plan_(plan),
      context_(context),
      pattern_(verification_pattern(c)),
      call_(std::move(call)) {}

void DeviceOperation::do_prepare() {
  call_->prepare();
  call_->fill(pattern_);
  context_.stream->synchronize();
}

void DeviceOperation::do_warm_up() {
  call_->enqueue(0);
  call_->finish();
  context_.stream->synchronize();
  if (definition_.launch != LaunchMode::graph) return;
  graph_ = gpu::capture(*context_.stream, [this] {
    const int turns = plan_.operations_per_graph / plan_.operations_per_slot;
    for (std::int64_t i = 0; i < turns; ++i) call_->enqueue(i % plan_.slots);
    call_->finish();
  });
  graph_->launch(*context_.stream);
  context_.stream->synchronize();
}

/// All of an operation is in the stream after finish().
void DeviceOperation::enqueue(std::int64_t operations) {
  for (std::int64_t done = 0; done < operations; done += plan_.granularity()) {
    if (graph_) {
      graph_->launch(*context_.stream);
      continue;
    }
    call_->enqueue(next_slot_);
    next_slot_ = next_slot_ + 1 == plan_.slots ? 0 : next_slot_ + 1;
  }
}

void DeviceOperation::launch(std::int64_t operations) {
  enqueue(operations);
  call_->finish();
}

std::optional<Seconds> DeviceOperation::do_time_batch(std::int64_t operations) {
  const Seconds time = context_.timer->time(
      context_.communicator, *context_.stream, [&] { enqueue(plan_.granularity()); },
      [&] { launch(operations - plan_.granularity()); });
  if (!call_->takes_part()) return std::nullopt;
  return time;
}

void DeviceOperation::do_run(std::int64_t operations) {
  launch(operations);
  context_.stream->synchronize();
}

/// In the middle of a part: not every byte of an output need be anybody's data.
void DeviceOperation::flip_one_bit(std::int64_t slot, const ExpectedPart& part) const {
  const std::int64_t element = part.begin + part.count / 2;
  char* byte = static_cast<char*>(call_->output(slot)) + element * size_of(definition_.type);
  char value = 0;
  gpu::check(cudaMemcpy(&value, byte, 1, cudaMemcpyDeviceToHost));
  value = static_cast<char>(value ^ 1);
  gpu::check(cudaMemcpy(byte, &value, 1, cudaMemcpyHostToDevice));
}

Verification DeviceOperation::do_verify(bool corrupt) {
  call_->fill(pattern_);
  const std::int64_t slots = graph_ ? plan_.slots : 1;
  next_slot_ = 0;
  // Some ranks reach into others' buffers, which these must have filled, and have not yet checked.
  context_.timer->line_up(context_.communicator, *context_.stream);
  launch(slots * plan_.operations_per_slot);
  context_.timer->line_up(context_.communicator, *context_.stream);
  context_.stream->synchronize();
  if (const std::optional<Verification> own = call_->check(corrupt)) return *own;
  const std::vector<ExpectedPart> parts = expected_parts(definition_, context_.rank);
  if (parts.empty()) return {};
  if (corrupt) flip_one_bit(slots - 1, parts.front());
  std::vector<const void*> outputs;
  for (std::int64_t slot = 0; slot < slots; ++slot) outputs.push_back(call_->output(slot));
  return check_on_device(outputs, pattern_, parts, *context_.stream);
}

Execution DeviceOperation::do_execution() const {
  Execution execution;
  execution.operations_per_graph = plan_.operations_per_graph;
  execution.buffer_slots = plan_.slots;
  execution.cold_data = plan_.cold;
  execution.form = call_->form();
  execution.through_host = call_->through_host();
  return execution;
}

}  // namespace linkgain
