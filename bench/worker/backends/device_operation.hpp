#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "data_mapping.hpp"
#include "device_call.hpp"
#include "kernels/verify/pattern.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/gpu/graph.hpp"
#include "linkgain/runtime/operation.hpp"
#include "nccl/context.hpp"

namespace linkgain {

/// One operation on this rank's device, launched call by call or as a captured graph.
class DeviceOperation : public Operation {
 public:
  DeviceOperation(const Case& c, const BufferPlan& plan, const NcclContext& context,
                  std::unique_ptr<DeviceCall> call);

 private:
  void do_prepare() override;
  void do_warm_up() override;
  std::optional<Seconds> do_time_batch(std::int64_t operations) override;
  void do_run(std::int64_t operations) override;
  Verification do_verify(bool corrupt) override;
  std::int64_t do_granularity() const override { return plan_.granularity(); }
  Execution do_execution() const override;
  std::optional<TransferPlan> do_plan() const override { return call_->plan(); }

  void enqueue(std::int64_t operations);
  void launch(std::int64_t operations);
  void flip_one_bit(std::int64_t slot, const ExpectedPart& part) const;

  Case definition_;
  BufferPlan plan_;
  NcclContext context_;
  kernels::Pattern pattern_;
  std::unique_ptr<DeviceCall> call_;
  std::optional<gpu::GraphExecutable> graph_;
  std::int64_t next_slot_ = 0;
};

}  // namespace linkgain
