#pragma once

#include <nccl.h>

#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/event.hpp"
#include "linkgain/gpu/stream.hpp"
#include "start_gate.hpp"

namespace linkgain {

/// What all operations of a rank share; owned by the backend, which outlives them.
struct NcclContext {
  ncclComm_t communicator = nullptr;
  int rank = 0;
  gpu::Stream* stream = nullptr;
  StartGate* gate = nullptr;  ///< of `stream`
  gpu::Event* start = nullptr;
  gpu::Event* stop = nullptr;
  /// Two floats: an all-reduce from the first to the second lines the GPUs up before a batch.
  gpu::DeviceBuffer* alignment = nullptr;
};

}  // namespace linkgain
