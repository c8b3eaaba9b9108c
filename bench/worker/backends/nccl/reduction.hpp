#pragma once

#include <nccl.h>

#include "linkgain/base/data_type.hpp"

namespace linkgain {

/// A reduction as NCCL's calls take it: one of its own, or for mulsum one made for this rank, with
/// its factor, and owned here. Not copyable.
class NcclReduction {
 public:
  /// Local to the rank. `communicator` must outlive it. Throws NcclError, and MachineError where
  /// this NCCL lacks the type.
  NcclReduction(Reduction reduction, DataType type, int rank, ncclComm_t communicator);
  ~NcclReduction();
  NcclReduction(const NcclReduction&) = delete;
  NcclReduction& operator=(const NcclReduction&) = delete;

  ncclRedOp_t get() const noexcept { return reduction_; }

 private:
  ncclRedOp_t reduction_ = ncclSum;
  ncclComm_t made_for_ = nullptr;  ///< null where it is one of NCCL's own
};

}  // namespace linkgain
