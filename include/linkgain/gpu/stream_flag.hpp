#pragma once

#include <cstdint>

#include "linkgain/gpu/stream.hpp"

namespace linkgain::gpu {

/// Whether the driver has the two operations below.
bool has_stream_flags();

/// Holds the stream up until *flag, a counter in page-locked host memory, has come to `value`; the
/// numbers may come round after 2^32. Not to be captured. Throws CudaError.
void wait_for_flag(const Stream& stream, std::uint32_t* flag, std::uint32_t value);

/// Writes `value` when all work before it in the stream is done and can be seen by everybody.
void write_flag(const Stream& stream, std::uint32_t* flag, std::uint32_t value);

}  // namespace linkgain::gpu
