#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/verify/pattern.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/runtime/operation.hpp"
#include "mpi/host_pool.hpp"

namespace linkgain {

/// One operation by MPI over MPI_COMM_WORLD, in CPU memory.
class MpiOperation : public Operation {
 public:
  MpiOperation(const Case& c, const BufferPlan& plan, int rank);

 private:
  void do_warm_up() override;
  std::optional<Seconds> do_time_batch(std::int64_t operations) override;
  void do_run(std::int64_t operations) override;
  Verification do_verify(bool corrupt) override;
  std::int64_t do_granularity() const override { return plan_.granularity(); }
  Execution do_execution() const override;

  std::span<std::byte> input(std::int64_t slot);
  std::span<std::byte> output(std::int64_t slot);
  /// Known data into the input, poison into everything else.
  void fill(std::int64_t slot);
  void run_once(std::int64_t slot);

  Case definition_;
  BufferPlan plan_;
  int rank_;
  kernels::Pattern pattern_;
  RankBuffers buffers_;
  HostPool first_;   ///< of inputs; in place of both
  HostPool second_;  ///< of outputs; in place of nothing
  std::int64_t next_slot_ = 0;
};

}  // namespace linkgain
