#pragma once

#include "linkgain/base/units.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain::gpu {

/// Enqueues a copy between any two places of host or device memory. From or to host memory that is
/// not page-locked it may wait for the copy, and for what is in the stream before it. Throws
/// CudaError.
void enqueue_copy(void* to, const void* from, Bytes size, const Stream& stream);

/// Enqueues: every byte of device memory becomes `byte`. Throws CudaError.
void enqueue_fill(void* memory, unsigned char byte, Bytes size, const Stream& stream);

/// What is taken of the current device's memory, by all processes. Throws CudaError.
Bytes memory_in_use();

}  // namespace linkgain::gpu
