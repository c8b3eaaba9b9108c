#pragma once

#include "device_call.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "nccl/context.hpp"
#include "peer/copy_worker.hpp"
#include "peer/pools.hpp"
#include "transfers.hpp"

namespace linkgain {

/// A copy between ranks of which one reaches the other's memory.
class MemoryCopy : public DeviceCall {
 public:
  /// Throws what PeerPools throws.
  MemoryCopy(const Case& c, const BufferPlan& plan, const NcclContext& context, Session& session);

 private:
  void do_prepare() override;
  bool do_takes_part() const override { return own_.has_value(); }
  void do_enqueue(std::int64_t slot) override;
  void* do_output(std::int64_t slot) const override { return pools_.own().output(slot); }
  void do_fill(const kernels::Pattern& pattern) override { pools_.fill(pattern); }
  std::string do_form() const override;
  std::optional<bool> do_through_host() const override { return false; }
  std::optional<TransferPlan> do_plan() const override;

  void* target(std::int64_t slot) const;
  const void* source(std::int64_t slot) const;

  Case definition_;
  NcclContext context_;
  std::optional<Transfer> own_;  ///< what this rank moves
  PeerPools pools_;
  CopyWorker worker_;
};

}  // namespace linkgain
