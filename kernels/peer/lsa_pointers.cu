#include <nccl_device.h>

#include "kernels/peer/lsa_pointers.hpp"

namespace linkgain::kernels {
namespace {

/// Finds pointers by one thread for each rank.
__global__ void lsa_pointers_kernel(ncclWindow_t window, void** pointers) {
  const int rank = static_cast<int>(threadIdx.x);
  pointers[rank] = ncclGetLsaPointer(window, 0, rank);
}

}  // namespace

int device_api_version() { return NCCL_VERSION_CODE; }

int find_lsa_team(ncclComm* communicator, void* dev_comm_create, void* dev_comm_destroy,
                  LsaTeam& team) {
  const auto create = reinterpret_cast<decltype(&ncclDevCommCreate)>(dev_comm_create);
  const auto destroy = reinterpret_cast<decltype(&ncclDevCommDestroy)>(dev_comm_destroy);
  if (create == nullptr || destroy == nullptr) return ncclInvalidUsage;
#ifdef NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER  // from 2.29 on
  const ncclDevCommRequirements requirements = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
#else
  const ncclDevCommRequirements requirements{};
#endif
  ncclDevComm device_communicator{};
  const ncclResult_t status = create(communicator, &requirements, &device_communicator);
  if (status != ncclSuccess) return status;
  team = {device_communicator.lsaSize, device_communicator.lsaRank};
  return destroy(communicator, &device_communicator);
}

cudaError_t write_lsa_pointers(ncclWindow_vidmem* window, int ranks, void** pointers,
                               cudaStream_t stream) {
  lsa_pointers_kernel<<<1, static_cast<unsigned>(ranks), 0, stream>>>(window, pointers);
  return cudaGetLastError();
}

}  // namespace linkgain::kernels
