#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "linkgain/gpu/buffer.hpp"

namespace linkgain::gpu {

/// What another process of this host needs to reach the memory, by cudaIpcOpenMemHandle. Throws
/// CudaError.
cudaIpcMemHandle_t export_memory(const DeviceBuffer& memory);

/// Whether the current device can reach the memory of the one with that PCI id; false where this
/// process does not see that one.
bool can_reach(const std::string& pci_bus_id);

/// Whether the current device does atomic operations on that one's memory as it does on its own: by
/// NVLink it does, by PCIe it does not. True for itself, false where this process does not see it.
bool has_native_atomics(const std::string& pci_bus_id);

/// Another process's device memory, mapped for the current device over P2P. The owner must keep it
/// until nothing works with it here any more. Movable, not copyable.
class ImportedMemory {
 public:
  /// Throws CudaError, where the devices cannot reach each other too.
  explicit ImportedMemory(const cudaIpcMemHandle_t& handle);
  ImportedMemory(ImportedMemory&& other) noexcept;
  ImportedMemory& operator=(ImportedMemory&& other) noexcept;
  ~ImportedMemory();

  void* data() const noexcept { return memory_; }

 private:
  void* memory_ = nullptr;
};

}  // namespace linkgain::gpu
