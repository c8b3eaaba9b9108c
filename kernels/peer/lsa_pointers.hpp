#pragma once

#include <cuda_runtime_api.h>

struct ncclComm;
struct ncclWindow_vidmem;

/// NCCL's device API as far as our kernels need it. Built only where NCCL has one (2.28 and later).
namespace linkgain::kernels {

/// Returns NCCL's version as these functions were compiled with it, 22803 for 2.28.3. They may be
/// called only where the library loaded understands that one's structures.
int device_api_version();

/// A rank's place among those whose memory it reaches by loads and stores: NCCL's LSA team.
struct LsaTeam {
  int ranks = 0;
  int rank = 0;
};

/// Makes a device communicator without multicast and barriers, to see whether there can be one, and
/// lets it go again, as the mapping of memory is the window's; collective over the communicator.
/// Returns an ncclResult_t: ncclInvalidUsage, on every rank, if the communicator has no symmetric
/// memory or a function is null. `dev_comm_create` and `dev_comm_destroy` are the library's
/// ncclDevCommCreate and ncclDevCommDestroy.
int find_lsa_team(ncclComm* communicator, void* dev_comm_create, void* dev_comm_destroy,
                  LsaTeam& team);

/// Writes to pointers[i], in memory of the device, where it finds the window's memory of the team's
/// rank i, by work on the stream. Valid as long as the window is registered.
cudaError_t write_lsa_pointers(ncclWindow_vidmem* window, int ranks, void** pointers,
                               cudaStream_t stream);

}  // namespace linkgain::kernels
