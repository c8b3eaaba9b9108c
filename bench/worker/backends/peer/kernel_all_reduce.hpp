#pragma once

#include <string>
#include <vector>

#include "device_operation.hpp"
#include "kernels/all_reduce/all_reduce.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "nccl/batch_timer.hpp"
#include "peer/memory.hpp"

namespace linkgain {

/// Finds what joins the ranks that have P2P; every rank must call it. `gpus` are the PCI ids of
/// all.
kernels::AllReducePath peer_path(Session& session, const std::vector<std::string>& gpus);

/// An all-reduce by our own kernels. With P2P they reach the other ranks' memory; else they go
/// through host memory that the ranks share.
class KernelAllReduce : public DeviceCall {
 public:
  /// Makes an all-reduce by `path`, which must be the same on all ranks. Throws what PeerPools
  /// throws.
  KernelAllReduce(const Case& c, const BufferPlan& plan, const NcclContext& context,
                  Session& session, int multiprocessors, kernels::AllReducePath path);

 private:
  void do_prepare() override;
  void do_release() override { pools_.release(); }
  bool do_takes_part() const override { return true; }
  void do_enqueue(std::int64_t slot) override;
  void* do_output(std::int64_t slot) const override { return pools_.own().output(slot); }
  void do_fill(const kernels::Pattern& pattern) override;
  std::string do_form() const override;
  std::optional<bool> do_through_host() const override { return through_host_; }
  std::optional<TransferPlan> do_plan() const override;

  std::int64_t offset_of(const void* address) const;

  Case definition_;
  NcclContext context_;
  bool through_host_;
  std::int64_t piece_bytes_;  ///< of every launch for an operation but the last, which has the rest
  kernels::AllReduceChoice choice_;
  PeerPools pools_;
};

}  // namespace linkgain
