#include "nccl_operation.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <stdexcept>

#include "data_mapping.hpp"
#include "linkgain/gpu/errors.hpp"
#include "nccl_api.hpp"

namespace linkgain {

NcclOperation::NcclOperation(const Case& c, const BufferPlan& plan, const NcclContext& context)
    : definition_(c),
      plan_(plan),
      context_(context),
      pattern_(verification_pattern(c)),
      type_(nccl_type(c.type)),
      reduction_(nccl_reduction(c.reduction)),
      input_(Bytes{plan.slot_bytes * plan.slots}) {
  if (c.operation == OperationKind::send_recv) {
    receiver_ = receiver_from(c, context.rank);
    sender_ = sender_to(c, context.rank);
  }
  if (!c.in_place) output_.emplace(Bytes{plan.slot_bytes * plan.slots});
  fill();
  poison();
  context_.stream->synchronize();
}

void* NcclOperation::input(std::int64_t slot) const {
  return static_cast<char*>(input_.data()) + slot * plan_.slot_bytes;
}

void* NcclOperation::output(std::int64_t slot) const {
  return output_ ? static_cast<char*>(output_->data()) + slot * plan_.slot_bytes : input(slot);
}

/// Every slot gets the same data: one long run of the pattern where slots follow each other without
/// gaps would give each other data, and then a check would have to know the slot.
void NcclOperation::fill() {
  const std::int64_t elements = plan_.slot_bytes / size_of(definition_.type);
  gpu::check(
      kernels::fill_input(input(0), elements, 0, pattern_, context_.rank, context_.stream->get()));
  // Doubling copies: few calls however many slots there are.
  for (std::int64_t filled = 1; filled < plan_.slots; filled *= 2) {
    const std::int64_t count = std::min(filled, plan_.slots - filled);
    gpu::check(cudaMemcpyAsync(input(filled), input(0),
                               static_cast<std::size_t>(count * plan_.slot_bytes),
                               cudaMemcpyDeviceToDevice, context_.stream->get()));
  }
}

void NcclOperation::poison() {
  if (!output_) return;
  gpu::check(cudaMemsetAsync(output_->data(), kernels::kPoisonByte,
                             static_cast<std::size_t>(output_->size().value),
                             context_.stream->get()));
}

void NcclOperation::enqueue_send_recv(std::int64_t slot) const {
  const auto count = static_cast<std::size_t>(definition_.elements());
  check(ncclGroupStart());
  if (receiver_ >= 0) {
    check(ncclSend(input(slot), count, type_, receiver_, context_.communicator,
                   context_.stream->get()));
  }
  if (sender_ >= 0) {
    check(ncclRecv(output(slot), count, type_, sender_, context_.communicator,
                   context_.stream->get()));
  }
  check(ncclGroupEnd());
}

void NcclOperation::enqueue(std::int64_t slot) const {
  switch (definition_.operation) {
    case OperationKind::all_reduce:
      check(ncclAllReduce(input(slot), output(slot),
                          static_cast<std::size_t>(definition_.elements()), type_, reduction_,
                          context_.communicator, context_.stream->get()));
      return;
    case OperationKind::send_recv:
      enqueue_send_recv(slot);
      return;
  }
  throw std::logic_error("unhandled operation");
}

void NcclOperation::do_warm_up() {
  enqueue(0);
  context_.stream->synchronize();
  if (definition_.launch != LaunchMode::graph) return;
  graph_ = gpu::capture(*context_.stream, [this] {
    for (std::int64_t i = 0; i < plan_.operations_per_graph; ++i) enqueue(i % plan_.slots);
  });
  graph_->launch(*context_.stream);
  context_.stream->synchronize();
}

void NcclOperation::launch(std::int64_t operations) {
  if (graph_) {
    for (std::int64_t done = 0; done < operations; done += plan_.operations_per_graph) {
      graph_->launch(*context_.stream);
    }
    return;
  }
  for (std::int64_t i = 0; i < operations; ++i) {
    enqueue(next_slot_);
    next_slot_ = next_slot_ + 1 == plan_.slots ? 0 : next_slot_ + 1;
  }
}

std::optional<Seconds> NcclOperation::do_time_batch(std::int64_t operations) {
  // The ranks leave their barrier microseconds apart; this makes the GPUs start together.
  float* alignment = static_cast<float*>(context_.alignment->data());
  check(ncclAllReduce(alignment, alignment + 1, 1, ncclFloat32, ncclSum, context_.communicator,
                      context_.stream->get()));
  context_.start->record(*context_.stream);
  launch(operations);
  context_.stop->record(*context_.stream);
  context_.stop->synchronize();
  const bool takes_part =
      definition_.operation == OperationKind::all_reduce || receiver_ >= 0 || sender_ >= 0;
  if (!takes_part) return std::nullopt;
  return gpu::elapsed(*context_.start, *context_.stop);
}

void NcclOperation::do_run(std::int64_t operations) {
  launch(operations);
  context_.stream->synchronize();
}

void NcclOperation::flip_one_bit(std::int64_t slot) const {
  char* byte = static_cast<char*>(output(slot)) + definition_.size.value / 2;
  char value = 0;
  gpu::check(cudaMemcpy(&value, byte, 1, cudaMemcpyDeviceToHost));
  value = static_cast<char>(value ^ 1);
  gpu::check(cudaMemcpy(byte, &value, 1, cudaMemcpyHostToDevice));
}

/// Of the first `slots` outputs, against the reduction or, for send_recv, the input of `sender`.
kernels::CheckResult NcclOperation::check_outputs(std::int64_t slots, int sender) {
  const gpu::DeviceBuffer found(Bytes{sizeof(kernels::CheckResult)});
  auto* device_result = static_cast<kernels::CheckResult*>(found.data());
  cudaStream_t stream = context_.stream->get();
  gpu::check(kernels::clear_result(device_result, stream));
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    gpu::check(definition_.operation == OperationKind::all_reduce
                   ? kernels::check_reduction(output(slot), definition_.elements(), 0, pattern_,
                                              device_result, stream)
                   : kernels::check_input(output(slot), definition_.elements(), 0, pattern_, sender,
                                          device_result, stream));
  }
  kernels::CheckResult result;
  gpu::check(
      cudaMemcpyAsync(&result, device_result, sizeof result, cudaMemcpyDeviceToHost, stream));
  context_.stream->synchronize();
  return result;
}

Verification NcclOperation::do_verify(bool corrupt) {
  fill();
  poison();
  const std::int64_t slots = graph_ ? plan_.slots : 1;
  next_slot_ = 0;
  launch(slots);
  context_.stream->synchronize();
  Verification verification;
  const bool receives = definition_.operation == OperationKind::all_reduce || sender_ >= 0;
  if (!receives) return verification;
  if (corrupt) flip_one_bit(slots - 1);
  const kernels::CheckResult result = check_outputs(slots, sender_);
  verification.checked = slots * definition_.elements();
  verification.wrong = static_cast<std::int64_t>(result.wrong);
  verification.largest_error = result.largest_error;
  verification.bound = pattern_.relative_error;
  if (result.wrong > 0) {
    verification.first_wrong = fmt::format("element {}: {} instead of {}", result.first_wrong_index,
                                           result.first_got, result.first_expected);
  }
  return verification;
}

std::int64_t NcclOperation::do_granularity() const {
  return definition_.launch == LaunchMode::graph ? plan_.operations_per_graph : 1;
}

Execution NcclOperation::do_execution() const {
  return {1, plan_.operations_per_graph, plan_.slots, plan_.cold};
}

}  // namespace linkgain
