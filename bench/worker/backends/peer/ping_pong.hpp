#pragma once

#include <cstdint>

#include "device_call.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "nccl/context.hpp"
#include "peer/pools.hpp"

namespace linkgain {

/// The latency of a message with a flag beside every word, there and back many times in one launch,
/// between the two ranks of the case's pair; an operation is one way.
class FlagExchange : public DeviceCall {
 public:
  /// Throws what PeerPools throws.
  FlagExchange(const Case& c, const BufferPlan& plan, const NcclContext& context, Session& session,
               bool through_host);

 private:
  void do_prepare() override { pools_.join(); }
  bool do_takes_part() const override { return peer_ >= 0; }
  void do_enqueue(std::int64_t slot) override;
  void* do_output(std::int64_t slot) const override { return pools_.own().output(slot); }
  void do_fill(const kernels::Pattern& pattern) override { pools_.fill(pattern); }
  std::string do_form() const override;
  std::optional<bool> do_through_host() const override { return through_host_; }
  std::optional<TransferPlan> do_plan() const override;

  Case definition_;
  NcclContext context_;
  int peer_;  ///< -1 where this rank has no part
  int rounds_;
  bool through_host_;
  std::uint32_t rounds_done_ = 0;
  PeerPools pools_;
};

}  // namespace linkgain
