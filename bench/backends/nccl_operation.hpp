#pragma once

#include <nccl.h>

#include <optional>

#include "kernels/pattern.hpp"
#include "kernels/verification.hpp"
#include "linkgain/core/buffer_plan.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/event.hpp"
#include "linkgain/gpu/graph.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/runtime/operation.hpp"

namespace linkgain {

/// What all operations of a rank share; owned by the backend, which outlives them.
struct NcclContext {
  ncclComm_t communicator = nullptr;
  int rank = 0;
  gpu::Stream* stream = nullptr;
  gpu::Event* start = nullptr;
  gpu::Event* stop = nullptr;
  /// Two floats: an all-reduce from the first to the second lines the GPUs up before a batch.
  gpu::DeviceBuffer* alignment = nullptr;
};

/// all_reduce or send_recv by NCCL, launched call by call or as a captured graph.
class NcclOperation : public Operation {
 public:
  NcclOperation(const Case& c, const BufferPlan& plan, const NcclContext& context);

 private:
  void do_warm_up() override;
  std::optional<Seconds> do_time_batch(std::int64_t operations) override;
  void do_run(std::int64_t operations) override;
  Verification do_verify(bool corrupt) override;
  std::int64_t do_granularity() const override;
  Execution do_execution() const override;

  void* input(std::int64_t slot) const;
  void* output(std::int64_t slot) const;
  void fill();
  void poison();
  void enqueue(std::int64_t slot) const;
  void enqueue_send_recv(std::int64_t slot) const;
  void launch(std::int64_t operations);
  void flip_one_bit(std::int64_t slot) const;
  kernels::CheckResult check_outputs(std::int64_t slots, int sender);

  Case definition_;
  BufferPlan plan_;
  NcclContext context_;
  kernels::Pattern pattern_;
  ncclDataType_t type_;
  ncclRedOp_t reduction_;
  int receiver_ = -1;  ///< send_recv: the rank sent to; -1 for none
  int sender_ = -1;    ///< send_recv: the rank received from; -1 for none
  gpu::DeviceBuffer input_;
  std::optional<gpu::DeviceBuffer> output_;
  std::optional<gpu::GraphExecutable> graph_;
  std::int64_t next_slot_ = 0;
};

}  // namespace linkgain
