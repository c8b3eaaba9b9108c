#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "device_operation.hpp"
#include "kernels/all_reduce/all_reduce.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/runtime/data_mapping.hpp"
#include "nccl/batch_timer.hpp"
#include "peer/memory.hpp"
#include "peer/peer_calls.hpp"

namespace linkgain {
namespace {

/// Through the host an operation goes in pieces no larger: its messages lie in shared memory, of
/// which there may be little.
constexpr std::int64_t kLargestHostPiece = std::int64_t{32} << 20;

/// Returns pieces as few and as even as they can be, each from a line of memory on.
std::int64_t piece_bytes(Bytes size, bool through_host) {
  if (!through_host) return size.value;
  const std::int64_t pieces = divide_up(size.value, kLargestHostPiece);
  const std::int64_t each = divide_up(size.value, pieces);
  return std::min(round_up(each, kernels::kLineBytes), size.value);
}

class KernelAllReduce : public DeviceCall {
 public:
  KernelAllReduce(const Case& c, const BufferPlan& plan, const NcclContext& context,
                  Session& session, int multiprocessors, kernels::AllReducePath path)
      : definition_(c),
        context_(context),
        through_host_(path == kernels::AllReducePath::host_memory),
        over_pcie_(path == kernels::AllReducePath::p2p),
        piece_bytes_(piece_bytes(c.size, through_host_)),
        choice_(kernels::choose_all_reduce(piece_bytes_, element_type(c.type), c.ranks,
                                           multiprocessors, path)),
        pools_(c, plan, context, session,
               Bytes{kernels::all_reduce_scratch(choice_.method, piece_bytes_, c.ranks)},
               through_host_) {}

 private:
  /// Requires that all blocks run at once: it is said here, where ranks agree, and not by the first
  /// launch, for which the others would wait. After what ranks do together, so that none is missing
  /// there.
  void do_prepare() override {
    pools_.join();
    gpu::check(kernels::check_all_reduce(choice_.method, element_type(definition_.type),
                                         definition_.ranks, choice_.blocks));
  }

  void do_release() override { pools_.release(); }
  bool do_takes_part() const override { return true; }

  void do_enqueue(std::int64_t slot) override {
    kernels::DataOffsets where{offset_of(pools_.own().input(slot)),
                               offset_of(pools_.own().output(slot))};
    const std::int64_t element = size_of(definition_.type);
    const std::int64_t most = piece_bytes_ / element;
    for (std::int64_t left = definition_.size.value; left > 0; left -= piece_bytes_) {
      gpu::check(kernels::all_reduce(choice_.method, pools_.memory().regions(), where,
                                     element_type(definition_.type), std::min(left / element, most),
                                     most, choice_.blocks, context_.stream->get(),
                                     context_.bound()));
      where.input += piece_bytes_;
      where.output += piece_bytes_;
    }
  }

  void* do_input(std::int64_t slot) const override { return pools_.own().input(slot); }
  void* do_output(std::int64_t slot) const override { return pools_.own().output(slot); }

  void do_fill(const kernels::Pattern& pattern) override {
    pools_.fill(pattern);
    gpu::check(kernels::reset_all_reduce_scratch(
        choice_.method, pools_.memory().regions().scratch[context_.rank],
        kernels::all_reduce_scratch(choice_.method, piece_bytes_, definition_.ranks),
        context_.stream->get()));
  }

  std::string do_form() const override {
    return fmt::format("kernel: {}, {}{}", kernels::traits_of(choice_.method).form,
                       pools_.memory().transport(),
                       over_pcie_ ? "; no other is proved over PCIe" : "");
  }

  std::optional<bool> do_through_host() const override { return through_host_; }

  std::optional<TransferPlan> do_plan() const override {
    const kernels::AllReduceTraits& method = kernels::traits_of(choice_.method);
    return TransferPlan{std::string(method.algorithm), std::string(method.protocol),
                        choice_.blocks};
  }

  std::int64_t offset_of(const void* address) const {
    return static_cast<const char*>(address) - static_cast<const char*>(pools_.memory().data());
  }

  Case definition_;
  NcclContext context_;
  bool through_host_;
  bool over_pcie_;
  std::int64_t piece_bytes_;  ///< of every launch for an operation but the last, which has the rest
  kernels::AllReduceChoice choice_;
  PeerPools pools_;
};

}  // namespace

kernels::AllReducePath peer_path(Session& session, const std::vector<std::string>& gpus) {
  const bool atomics = std::all_of(gpus.begin(), gpus.end(), gpu::has_native_atomics);
  return session.max(atomics ? 0.0 : 1.0) == 0.0 ? kernels::AllReducePath::p2p_atomics
                                                 : kernels::AllReducePath::p2p;
}

std::unique_ptr<DeviceCall> make_kernel_all_reduce(const Case& c, const BufferPlan& plan,
                                                   const NcclContext& context, Session& session,
                                                   int multiprocessors,
                                                   kernels::AllReducePath path) {
  return std::make_unique<KernelAllReduce>(c, plan, context, session, multiprocessors, path);
}

}  // namespace linkgain
