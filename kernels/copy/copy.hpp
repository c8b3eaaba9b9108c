#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace linkgain::kernels {

/// The alignment of buffers and sizes, in bytes: a vector's.
inline constexpr int kCopyAlignment = 16;

/// How the threads of a device share a copy out.
struct CopyShape {
  int vectors;                    ///< of 16 bytes that each thread has under way: 1, 4 or 8
  int threads;                    ///< of a block
  int blocks_per_multiprocessor;  ///< 0: as many as there is work for
};

/// What is fastest differs with the device, the direction and the link. Many small blocks walk the
/// memory in order, few large ones keep more bytes under way.
inline constexpr CopyShape kCopyShapes[] = {
    {1, 1024, 0}, {1, 512, 0}, {1, 1024, 64}, {4, 512, 1}, {8, 256, 1}, {8, 512, 1}, {4, 512, 8},
};

/// Copies between any two places that the current device reaches: its own memory, another device's
/// or page-locked host memory. Where the device can (compute capability 9.0), a launch starts
/// while the one before it in the stream ends. cudaErrorInvalidValue for sizes or addresses that
/// are no multiple of the alignment, and for other shapes.
cudaError_t copy(void* to, const void* from, std::int64_t bytes, const CopyShape& shape,
                 cudaStream_t stream);

}  // namespace linkgain::kernels
