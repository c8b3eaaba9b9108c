#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace linkgain::kernels {

/// The longest that block_stream() accepts, in microseconds.
inline constexpr double kLongestBlock = 100e3;

/// Launches a kernel of one thread that ends when *gate, a counter in page-locked host memory, has
/// come to `value` (the numbers may wrap after 2^32), or after `microseconds`, so that no
/// host can leave the stream hanging. A time that is negative or above kLongestBlock, or no gate,
/// give cudaErrorInvalidValue.
cudaError_t block_stream(cudaStream_t stream, const std::uint32_t* gate, std::uint32_t value,
                         double microseconds);

}  // namespace linkgain::kernels
