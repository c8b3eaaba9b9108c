#include "linkgain/gpu/ipc_memory.hpp"

#include <utility>

#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {
namespace {

/// Whether the device with that PCI id is the current one, or is_so(own, other) of their numbers.
template <typename Predicate>
bool is_itself_or(const std::string& pci_bus_id, Predicate is_so) {
  int own = 0;
  check(cudaGetDevice(&own));
  for (int other = 0; other < device_count(); ++other) {
    if (device_info(other).pci_bus_id != pci_bus_id) continue;
    return other == own || is_so(own, other);
  }
  return false;
}

}  // namespace

cudaIpcMemHandle_t export_memory(const DeviceBuffer& memory) {
  cudaIpcMemHandle_t handle{};
  check(cudaIpcGetMemHandle(&handle, memory.data()));
  return handle;
}

bool can_reach(const std::string& pci_bus_id) {
  return is_itself_or(pci_bus_id, [](int own, int other) {
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, own, other));
    return can != 0;
  });
}

bool has_native_atomics(const std::string& pci_bus_id) {
  return is_itself_or(pci_bus_id, [](int own, int other) {
    int has = 0;
    check(cudaDeviceGetP2PAttribute(&has, cudaDevP2PAttrNativeAtomicSupported, own, other));
    return has != 0;
  });
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
