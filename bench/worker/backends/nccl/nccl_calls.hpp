#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <memory>

#include "device_operation.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/runtime/training_communication.hpp"
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

/// Puts the operation into the stream once, a ping_pong both ways. `input` and `output` are
/// where this rank's begin; null where it has none. Throws NcclError.
void enqueue(const NcclCall& call, const void* input, void* output);

/// Returns whether enqueue() makes the operation of sends and receives in one group, also to the
/// rank itself, as nccl-tests does with such an NCCL: alltoall, gather and scatter where it has
/// none.
bool is_grouped(const NcclCall& call);

/// Returns an operation by NCCL on memory of the kind that the case asks for. Throws what
/// NcclBuffer throws, and MachineError where this NCCL lacks the type.
std::unique_ptr<DeviceCall> make_nccl_call(const Case& c, const BufferPlan& plan,
                                           const NcclContext& context);

/// Returns NCCL's collectives on a stream of their own, of that priority, on the device that is
/// current; `model_stream` is of the same. `communicator` is the backend's own, so that a training
/// goes by the same rings as the all-reduce that it is compared with, and needs no memory for
/// buffers of its own. Both must outlive it. Local to the rank; the first operation of a kind
/// connects, which all ranks do together and for which the host stops. Throws CudaError and
/// NcclError.
std::unique_ptr<TrainingCommunication> make_nccl_training_communication(
    ncclComm_t communicator, cudaStream_t model_stream,
    gpu::StreamPriority priority = gpu::StreamPriority::highest);

}  // namespace linkgain
