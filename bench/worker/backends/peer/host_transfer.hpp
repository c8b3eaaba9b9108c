#pragma once

#include "device_call.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/pinned_copy.hpp"
#include "nccl/context.hpp"
#include "peer/copy_worker.hpp"
#include "slot_pools.hpp"

namespace linkgain {

/// A copy between this rank's device and page-locked memory of its host, on all ranks at once.
class HostTransfer : public DeviceCall {
 public:
  /// Throws CudaError, where memory is short with advice.
  HostTransfer(const Case& c, const BufferPlan& plan, const NcclContext& context);

 private:
  void do_prepare() override;
  bool do_takes_part() const override { return true; }
  void do_enqueue(std::int64_t slot) override;
  void* do_output(std::int64_t slot) const override { return slots_.output(slot); }
  void do_fill(const kernels::Pattern& pattern) override { slots_.fill(pattern, *context_.stream); }
  std::string do_form() const override { return worker_.form(); }
  std::optional<bool> do_through_host() const override { return true; }
  std::optional<TransferPlan> do_plan() const override { return std::nullopt; }

  Case definition_;
  NcclContext context_;
  SlotPools slots_;
  gpu::DeviceBuffer device_;
  gpu::PinnedBuffer host_;
  CopyWorker worker_;
};

}  // namespace linkgain
