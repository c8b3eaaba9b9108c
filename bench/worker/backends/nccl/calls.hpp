#pragma once

#include <nccl.h>

#include <memory>

#include "device_operation.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/cases/case.hpp"
#include "nccl/api.hpp"

namespace linkgain {

/// All that a call of NCCL needs beside the buffers.
struct NcclCall {
  Case definition;
  ncclDataType_t type;
  ncclRedOp_t reduction;
  int rank;
  ncclComm_t communicator;
  cudaStream_t stream;
  NcclExchanges exchanges;
};

/// Puts the operation into the stream once, a ping_pong there and back. `input` and `output` are
/// where this rank's begin; null where it has none. Throws NcclError.
void enqueue(const NcclCall& call, const void* input, void* output);

/// Whether enqueue() makes the operation of sends and receives in one group, also to the rank
/// itself, as nccl-tests does with such an NCCL: alltoall, gather and scatter where it has none.
bool is_grouped(const NcclCall& call);

/// An operation by NCCL on memory of the kind that the case asks for. Throws what NcclBuffer
/// throws, and MachineError where this NCCL lacks the type.
std::unique_ptr<DeviceCall> make_nccl_call(const Case& c, const BufferPlan& plan,
                                           const NcclContext& context);

}  // namespace linkgain
