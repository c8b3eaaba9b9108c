#pragma once

#include <nccl.h>

#include <optional>
#include <string>
#include <vector>

#include "linkgain/gpu/stream.hpp"

/// All that depends on whether NCCL has a device API is here: kernels that reach other ranks'
/// memory through the pointers of a window (LSA pointers).
namespace linkgain {

/// Why kernels compiled with NCCL `compiled` cannot use the device API of the library `loaded`,
/// both in NCCL's coding (22803 for 2.28.3); absent where they can. Structures of 2.28 changed with
/// every patch; a library from 2.29 on understands those of older ones.
std::optional<std::string> device_api_mismatch(int compiled, int loaded);

/// Why this process cannot use the device API; absent where it can.
std::optional<std::string> device_api_problem();

/// Collective over the communicator, and only without device_api_problem(): throws MachineError
/// where a kernel on this rank does not reach the memory of all `ranks` ranks, or where the LSA
/// team numbers them in another way; NcclError.
void require_lsa_team(ncclComm_t communicator, int ranks, int rank);

/// Where the current device finds the memory of a window of such a team on each rank, by rank; this
/// rank's is another address for what the window was made of. Valid as long as the window is
/// registered. Throws CudaError.
std::vector<void*> lsa_pointers(void* window, int ranks, const gpu::Stream& stream);

}  // namespace linkgain
