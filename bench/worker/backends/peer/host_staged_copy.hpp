#pragma once

#include <memory>
#include <vector>

#include "device_call.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "nccl/context.hpp"
#include "peer/pools.hpp"
#include "transfers.hpp"

namespace linkgain {

/// A copy between ranks that share host memory only, by copy engines: both sides work. Whether it
/// is called a push or a pull makes no difference then.
class HostStagedCopy : public DeviceCall {
 public:
  /// Needs gpu::has_stream_flags(). Throws what PeerPools throws, MachineError.
  HostStagedCopy(const Case& c, const BufferPlan& plan, const NcclContext& context,
                 Session& session);
  ~HostStagedCopy() override;

 private:
  class StagingRing;

  /// What of the operation this rank has to do.
  struct Part {
    Transfer transfer;
    std::size_t number;  ///< among all transfers
    bool sends;          ///< else it receives
    std::unique_ptr<StagingRing> ring;
  };

  void do_prepare() override;
  bool do_takes_part() const override { return !parts_.empty(); }
  void do_enqueue(std::int64_t slot) override;
  void do_finish() override;
  void* do_output(std::int64_t slot) const override { return pools_.own().output(slot); }
  void do_fill(const kernels::Pattern& pattern) override { pools_.fill(pattern); }
  std::string do_form() const override;
  std::optional<bool> do_through_host() const override { return true; }
  std::optional<TransferPlan> do_plan() const override;

  Case definition_;
  NcclContext context_;
  Bytes chunk_;
  Bytes ring_;
  std::vector<Part> parts_;
  PeerPools pools_;
};

}  // namespace linkgain
