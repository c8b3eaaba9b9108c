#pragma once

#include <cuda_runtime_api.h>

#include "kernels/common/wait_report.hpp"

namespace linkgain::test {

/// One thread that waits, as a block of attention's backward pass does, until `turn` blocks have
/// added to the tile whose counter that is; the number is on the device.
cudaError_t await_turn(unsigned* counter, int turn, const kernels::WaitBound& bound,
                       cudaStream_t stream);

}  // namespace linkgain::test
