#pragma once

namespace linkgain::gpu {

/// The driver's function of that name, as of CUDA 12.0, null where there is none: the driver's
/// library is not linked, as programs must start without it.
void* driver_function(const char* name) noexcept;

}  // namespace linkgain::gpu
