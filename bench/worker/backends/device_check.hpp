#pragma once

#include <vector>

#include "data_mapping.hpp"
#include "kernels/verify/pattern.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// Compares every element of every output on the device with what must stand there; each output has
/// these parts. Blocks until it is done. Throws CudaError.
Verification check_on_device(const std::vector<const void*>& outputs,
                             const kernels::Pattern& pattern,
                             const std::vector<ExpectedPart>& parts, const gpu::Stream& stream);

}  // namespace linkgain
