#include "kernel_all_reduce.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string_view>

#include "data_mapping.hpp"
#include "kernels/verification.hpp"
#include "linkgain/gpu/errors.hpp"
#include "nccl_device_api.hpp"

namespace linkgain {
namespace {

/// Through the host an operation goes in pieces no larger, where it can be cut into equal ones: its
/// messages lie in shared memory, of which there may be little.
constexpr std::int64_t kLargestHostPiece = std::int64_t{32} << 20;
constexpr std::int64_t kMostPieces = 1024;

std::int64_t pieces_of(const Case& c, bool through_host) {
  if (!through_host) return 1;
  for (std::int64_t pieces = 1; pieces <= kMostPieces; ++pieces) {
    const bool even = c.size.value % (pieces * kernels::kAllReduceAlignment) == 0;
    if (even && c.size.value / pieces <= kLargestHostPiece) return pieces;
  }
  return 1;
}

std::string_view text_of(kernels::AllReduceMethod method) {
  switch (method) {
    case kernels::AllReduceMethod::low_latency:
      return "one-shot, flags in data";
    case kernels::AllReduceMethod::one_shot:
      return "one-shot";
    case kernels::AllReduceMethod::two_shot:
      return "two-shot";
    case kernels::AllReduceMethod::relayed_two_shot:
      return "two-shot, sums relayed";
  }
  throw std::logic_error("unhandled method");
}

}  // namespace

KernelAllReduce::KernelAllReduce(const Case& c, const BufferPlan& plan, const NcclContext& context,
                                 Session& session, int multiprocessors, bool through_host)
    : definition_(c),
      context_(context),
      slots_(plan.slots),
      slot_bytes_(slot_bytes(c, context.rank)),
      pieces_(pieces_of(c, through_host)),
      piece_bytes_(c.size.value / pieces_),
      choice_(kernels::choose_all_reduce(piece_bytes_, c.ranks, multiprocessors, through_host)),
      memory_(session, context, Bytes{(slot_bytes_.first + slot_bytes_.second) * plan.slots},
              Bytes{kernels::all_reduce_scratch(choice_.method, piece_bytes_, c.ranks)},
              PeerRoad{through_host, device_api_problem()}) {}

kernels::AllReduceOffsets KernelAllReduce::offsets(std::int64_t slot) const {
  const std::int64_t input = slot * slot_bytes_.first;
  if (definition_.in_place) return {input, input};
  return {input, slots_ * slot_bytes_.first + slot * slot_bytes_.second};
}

void KernelAllReduce::do_enqueue(std::int64_t slot) const {
  kernels::AllReduceOffsets where = offsets(slot);
  for (std::int64_t piece = 0; piece < pieces_; ++piece) {
    gpu::check(kernels::all_reduce(
        choice_.method, memory_.regions(), where, element_type(definition_.type),
        piece_bytes_ / size_of(definition_.type), choice_.blocks, context_.stream->get()));
    where.input += piece_bytes_;
    where.output += piece_bytes_;
  }
}

void* KernelAllReduce::do_output(std::int64_t slot) const { return at(offsets(slot).output); }

void KernelAllReduce::do_fill(const kernels::Pattern& pattern) const {
  cudaStream_t stream = context_.stream->get();
  const std::int64_t total = (slot_bytes_.first + slot_bytes_.second) * slots_;
  gpu::check(cudaMemsetAsync(memory_.data(), kernels::kPoisonByte, static_cast<std::size_t>(total),
                             stream));
  for (std::int64_t slot = 0; slot < slots_; ++slot) {
    gpu::check(kernels::fill_input(at(offsets(slot).input), definition_.elements(), 0, pattern,
                                   context_.rank, stream));
  }
}

std::string KernelAllReduce::do_form() const {
  return fmt::format("kernel: {}, {}", text_of(choice_.method), memory_.road());
}

std::optional<TransferPlan> KernelAllReduce::do_plan() const {
  switch (choice_.method) {
    case kernels::AllReduceMethod::low_latency:
      return TransferPlan{"ONE_SHOT", "LL"};
    case kernels::AllReduceMethod::one_shot:
      return TransferPlan{"ONE_SHOT", "SIMPLE"};
    case kernels::AllReduceMethod::two_shot:
    case kernels::AllReduceMethod::relayed_two_shot:
      return TransferPlan{"TWO_SHOT", "SIMPLE"};
  }
  throw std::logic_error("unhandled method");
}

}  // namespace linkgain
