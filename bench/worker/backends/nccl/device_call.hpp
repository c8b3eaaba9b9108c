#pragma once

#include "device_call.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "nccl/calls.hpp"
#include "nccl/context.hpp"
#include "nccl/pools.hpp"
#include "nccl/reduction.hpp"

namespace linkgain {

/// An operation by NCCL.
class NcclDeviceCall : public DeviceCall {
 public:
  /// Throws what NcclPools throws, and MachineError where this NCCL lacks the type.
  NcclDeviceCall(const Case& c, const BufferPlan& plan, const NcclContext& context);

 private:
  void do_prepare() override { pools_.prepare(); }
  bool do_takes_part() const override;
  void do_enqueue(std::int64_t slot) override;
  void* do_output(std::int64_t slot) const override { return pools_.output(slot); }
  void do_fill(const kernels::Pattern& pattern) override { pools_.fill(pattern); }
  std::string do_form() const override;
  std::optional<bool> do_through_host() const override { return std::nullopt; }
  std::optional<TransferPlan> do_plan() const override { return std::nullopt; }

  NcclReduction reduction_;
  NcclCall call_;
  NcclPools pools_;
};

}  // namespace linkgain
