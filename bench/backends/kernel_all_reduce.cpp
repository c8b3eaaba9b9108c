#include "kernel_all_reduce.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

#include "data_mapping.hpp"
#include "linkgain/gpu/errors.hpp"

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
    case kernels::AllReduceMethod::low_latency_wide:
      return "one-shot, flags in 16 bytes";
    case kernels::AllReduceMethod::one_shot:
      return "one-shot";
    case kernels::AllReduceMethod::two_shot:
      return "two-shot";
    case kernels::AllReduceMethod::ring:
      return "ring";
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
      through_host_(through_host),
      pieces_(pieces_of(c, through_host)),
      piece_bytes_(c.size.value / pieces_),
      choice_(kernels::choose_all_reduce(piece_bytes_, element_type(c.type), c.ranks,
                                         multiprocessors, through_host)),
      pools_(c, plan, context, session,
             Bytes{kernels::all_reduce_scratch(choice_.method, piece_bytes_, c.ranks)},
             through_host) {}

std::int64_t KernelAllReduce::offset_of(const void* address) const {
  return static_cast<const char*>(address) - static_cast<const char*>(pools_.memory().data());
}

void KernelAllReduce::do_enqueue(std::int64_t slot) {
  kernels::AllReduceOffsets where{offset_of(pools_.own().input(slot)),
                                  offset_of(pools_.own().output(slot))};
  for (std::int64_t piece = 0; piece < pieces_; ++piece) {
    gpu::check(kernels::all_reduce(
        choice_.method, pools_.memory().regions(), where, element_type(definition_.type),
        piece_bytes_ / size_of(definition_.type), choice_.blocks, context_.stream->get()));
    where.input += piece_bytes_;
    where.output += piece_bytes_;
  }
}

std::string KernelAllReduce::do_form() const {
  return fmt::format("kernel: {}, {}", text_of(choice_.method), pools_.memory().road());
}

std::optional<TransferPlan> KernelAllReduce::do_plan() const {
  switch (choice_.method) {
    case kernels::AllReduceMethod::low_latency:
      return TransferPlan{"ONE_SHOT", "LL"};
    case kernels::AllReduceMethod::low_latency_wide:
      return TransferPlan{"ONE_SHOT", "LL16"};
    case kernels::AllReduceMethod::one_shot:
      return TransferPlan{"ONE_SHOT", "SIMPLE"};
    case kernels::AllReduceMethod::two_shot:
    case kernels::AllReduceMethod::relayed_two_shot:
      return TransferPlan{"TWO_SHOT", "SIMPLE"};
    case kernels::AllReduceMethod::ring:
      return TransferPlan{"RING", "SIMPLE"};
  }
  throw std::logic_error("unhandled method");
}

}  // namespace linkgain
