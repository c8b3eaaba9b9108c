#pragma once

#include <nccl.h>

#include "linkgain/gpu/stream.hpp"
#include "nccl/batch_timer.hpp"

namespace linkgain {

/// What all operations of a rank share; owned by the backend, which outlives them.
struct NcclContext {
  ncclComm_t communicator = nullptr;
  int rank = 0;
  gpu::Stream* stream = nullptr;
  BatchTimer* timer = nullptr;  ///< of `stream`
};

}  // namespace linkgain
