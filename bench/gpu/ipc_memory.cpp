#include "linkgain/gpu/ipc_memory.hpp"

#include <utility>

#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {

cudaIpcMemHandle_t export_memory(const DeviceBuffer& memory) {
  cudaIpcMemHandle_t handle{};
  check(cudaIpcGetMemHandle(&handle, memory.data()));
  return handle;
}

bool can_reach(const std::string& pci_bus_id) {
  int own = 0;
  check(cudaGetDevice(&own));
  for (int other = 0; other < device_count(); ++other) {
    if (device_info(other).pci_bus_id != pci_bus_id) continue;
    int can = 0;
    if (other != own) check(cudaDeviceCanAccessPeer(&can, own, other));
    return other == own || can != 0;
  }
  return false;
}

ImportedMemory::ImportedMemory(const cudaIpcMemHandle_t& handle) {
  check(cudaIpcOpenMemHandle(&memory_, handle, cudaIpcMemLazyEnablePeerAccess));
}

ImportedMemory::ImportedMemory(ImportedMemory&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)) {}

ImportedMemory& ImportedMemory::operator=(ImportedMemory&& other) noexcept {
  std::swap(memory_, other.memory_);
  return *this;
}

ImportedMemory::~ImportedMemory() {
  if (memory_ != nullptr) cudaIpcCloseMemHandle(memory_);
}

}  // namespace linkgain::gpu
