#pragma once

#include <cstdint>
#include <optional>

#include "kernels/pattern.hpp"
#include "linkgain/core/buffer_plan.hpp"
#include "linkgain/gpu/graph.hpp"
#include "linkgain/runtime/operation.hpp"
#include "nccl_calls.hpp"
#include "nccl_context.hpp"
#include "nccl_pools.hpp"

namespace linkgain {

/// One operation by NCCL, launched call by call or as a captured graph.
class NcclOperation : public Operation {
 public:
  NcclOperation(const Case& c, const BufferPlan& plan, const NcclContext& context);

 private:
  void do_prepare() override { pools_.prepare(); }
  void do_warm_up() override;
  std::optional<Seconds> do_time_batch(std::int64_t operations) override;
  void do_run(std::int64_t operations) override;
  Verification do_verify(bool corrupt) override;
  std::int64_t do_granularity() const override { return plan_.granularity(); }
  Execution do_execution() const override;

  void enqueue(std::int64_t slot) const;
  void launch(std::int64_t operations);
  void flip_one_bit(std::int64_t slot) const;

  Case definition_;
  BufferPlan plan_;
  NcclContext context_;
  kernels::Pattern pattern_;
  NcclCall call_;
  NcclPools pools_;
  std::optional<gpu::GraphExecutable> graph_;
  std::int64_t next_slot_ = 0;
};

}  // namespace linkgain
