#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "kernels/pattern.hpp"
#include "linkgain/core/buffer_plan.hpp"
#include "linkgain/runtime/operation.hpp"

namespace linkgain {

/// A pool of buffer slots in page-aligned CPU memory. Move-only owner.
class HostPool {
 public:
  /// Throws MachineError where the memory is not to be had.
  HostPool(std::int64_t slot_bytes, std::int64_t slots);
  /// The first `bytes` of a slot.
  std::span<std::byte> slot(std::int64_t index, std::int64_t bytes);

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::int64_t slot_bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

/// all_reduce or send_recv by MPI over MPI_COMM_WORLD.
class MpiOperation : public Operation {
 public:
  MpiOperation(const Case& c, const BufferPlan& plan, int rank);

 private:
  void do_warm_up() override;
  std::optional<Seconds> do_time_batch(std::int64_t operations) override;
  void do_run(std::int64_t operations) override;
  Verification do_verify(bool corrupt) override;
  std::int64_t do_granularity() const override { return 1; }
  Execution do_execution() const override;

  void run_once(std::int64_t slot);
  bool takes_part() const;
  HostPool& output() { return definition_.in_place ? input_ : *output_; }

  Case definition_;
  BufferPlan plan_;
  int rank_;
  kernels::Pattern pattern_;
  HostPool input_;
  std::optional<HostPool> output_;
  std::int64_t next_slot_ = 0;
};

}  // namespace linkgain
