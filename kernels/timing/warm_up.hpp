#pragma once

#include <cuda_runtime_api.h>

namespace linkgain::kernels {

/// The longest that warm_up() accepts, in microseconds.
inline constexpr double kLongestWarmUp = 10e6;

/// Launches a kernel that keeps every multiprocessor of the current device at floating-point work
/// for about `microseconds`, which brings an idle GPU to its working clock. It touches no memory.
/// `blocks` of 256 threads: 0 means as many as fill the device at once; with more than that, or
/// while other kernels run, it takes longer, as each block counts from its own start. A time that
/// is negative or above kLongestWarmUp, or negative `blocks`, give cudaErrorInvalidValue.
cudaError_t warm_up(cudaStream_t stream, double microseconds, int blocks = 0);

}  // namespace linkgain::kernels
