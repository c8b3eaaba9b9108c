#pragma once

#include "device_call.hpp"
#include "kernels/all_reduce.hpp"
#include "linkgain/core/buffer_plan.hpp"
#include "nccl_context.hpp"
#include "peer_memory.hpp"

namespace linkgain {

/// An all-reduce by our own kernels. With P2P they reach the other ranks' memory; else they go
/// through host memory that the ranks share.
class KernelAllReduce : public DeviceCall {
 public:
  /// `through_host` must be the same on all ranks. Throws what PeerMemory throws.
  KernelAllReduce(const Case& c, const BufferPlan& plan, const NcclContext& context,
                  Session& session, int multiprocessors, bool through_host);

 private:
  void do_prepare() override { memory_.join(); }
  void do_enqueue(std::int64_t slot) const override;
  void* do_output(std::int64_t slot) const override;
  Bytes do_output_size() const override { return definition_.size; }
  void do_fill(const kernels::Pattern& pattern) const override;
  std::string do_form() const override;
  std::optional<TransferPlan> do_plan() const override;

  kernels::AllReduceOffsets offsets(std::int64_t slot) const;
  char* at(std::int64_t offset) const { return static_cast<char*>(memory_.data()) + offset; }

  Case definition_;
  NcclContext context_;
  std::int64_t slots_;
  SlotBytes slot_bytes_;
  std::int64_t pieces_;  ///< launches for one operation, each of as many elements
  std::int64_t piece_bytes_;
  kernels::AllReduceChoice choice_;
  PeerMemory memory_;
};

}  // namespace linkgain
