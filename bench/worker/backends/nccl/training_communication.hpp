#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <memory>

#include "linkgain/gpu/stream.hpp"
#include "linkgain/runtime/training_communication.hpp"

namespace linkgain {

/// NCCL's collectives on a stream of their own, of that priority, on the device that is current;
/// `model_stream` is of the same. `communicator` is the backend's own, so that a training goes by
/// the same rings as the all-reduce that it is held against, and needs no memory for buffers of its
/// own. Both must outlive it. Local to the rank; the first operation of a kind connects, which all
/// ranks do together and for which the host stops. Throws CudaError and NcclError.
std::unique_ptr<TrainingCommunication> make_nccl_training_communication(
    ncclComm_t communicator, cudaStream_t model_stream,
    gpu::StreamPriority priority = gpu::StreamPriority::highest);

}  // namespace linkgain
