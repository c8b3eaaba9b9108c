#pragma once

#include <nccl.h>

#include "linkgain/core/case.hpp"

namespace linkgain {

/// All that a call of NCCL needs beside the buffers.
struct NcclCall {
  Case definition;
  ncclDataType_t type;
  ncclRedOp_t reduction;
  int rank;
  ncclComm_t communicator;
  cudaStream_t stream;
};

/// Puts the operation into the stream once, a ping_pong there and back. `input` and `output` are
/// where this rank's begin; null where it has none. alltoall, gather and scatter are sends and
/// receives in one group, also to the rank itself, as nccl-tests measures them. Throws NcclError.
void enqueue(const NcclCall& call, const void* input, void* output);

}  // namespace linkgain
