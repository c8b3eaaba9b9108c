#pragma once

#include <cstdint>
#include <vector>

#include "device_call.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "nccl/context.hpp"
#include "peer/memory.hpp"

namespace linkgain {

/// The latency of a load: one thread of rank `to` follows a chain of addresses through the memory
/// of rank `from`, or through host memory that both share. The chain goes through every line of the
/// case's size once, in an order that no prefetching guesses.
class LoadChase : public DeviceCall {
 public:
  /// Throws what PeerMemory throws.
  LoadChase(const Case& c, const BufferPlan& plan, const NcclContext& context, Session& session,
            bool through_host);

 private:
  void do_prepare() override;
  bool do_takes_part() const override { return context_.rank == definition_.pair->to; }
  void do_enqueue(std::int64_t slot) override;
  void* do_output(std::int64_t) const override { return nullptr; }
  void do_fill(const kernels::Pattern& pattern) override;
  std::optional<Verification> do_check(bool corrupt) override;
  std::string do_form() const override;
  std::optional<bool> do_through_host() const override { return through_host_; }
  std::optional<TransferPlan> do_plan() const override { return TransferPlan{"PULL", ""}; }

  Case definition_;
  NcclContext context_;
  int loads_;
  bool through_host_;
  std::vector<std::uint64_t> next_;  ///< by line, the offset that stands there
  gpu::DeviceBuffer position_;
  PeerMemory memory_;
};

}  // namespace linkgain
