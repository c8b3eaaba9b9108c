#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "linkgain/base/units.hpp"
#include "linkgain/gpu/buffer.hpp"

namespace linkgain::gpu {

/// Exports what another process of this host needs to reach the memory, by cudaIpcOpenMemHandle.
/// Throws CudaError.
cudaIpcMemHandle_t export_memory(const DeviceBuffer& memory);

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

/// Page-locked host memory that processes of one host share and the current device reads and
/// writes, filled with zeros at first. It is gone with the last process that has it, whatever ends
/// that. Movable, not copyable.
class SharedHostMemory {
 public:
  /// Makes memory without a name (memfd_create), which takes no room of /dev/shm. Throws
  /// MachineError where this host has not as much memory available, CudaError where it cannot be
  /// page-locked.
  static SharedHostMemory make(Bytes size);
  /// Makes memory for processes that do not see each other in /proc, as those of two containers: a
  /// new name in dev/shm, which remains if this process is killed before withdraw(). The same
  /// errors.
  static SharedHostMemory make_named(Bytes size);
  /// Opens what the process that made it calls by that address(). MachineError also where this
  /// process cannot get at it or another one has taken the address since.
  static SharedHostMemory open(const std::string& address, Bytes size);

  SharedHostMemory(SharedHostMemory&& other) noexcept;
  SharedHostMemory& operator=(SharedHostMemory&& other) noexcept;
  ~SharedHostMemory();

  /// Returns the memory as the device and this process see it.
  void* data() const noexcept { return memory_; }
  Bytes size() const noexcept { return size_; }
  /// Returns an address for others to open it by, of at most 127 characters; empty after withdraw()
  /// and of what was opened.
  const std::string& address() const noexcept { return address_; }
  /// Withdraws the address: nobody can open it any more; it lives on where it is open.
  void withdraw() noexcept;

 private:
  /// Maps the file and page-locks it; closes the file where that fails.
  SharedHostMemory(int file, std::string address, Bytes size);
  void swap(SharedHostMemory& other) noexcept;

  int file_ = -1;  ///< that others open through this process; of memory without a name
  std::string address_;
  void* memory_ = nullptr;
  Bytes size_{};
};

}  // namespace linkgain::gpu
