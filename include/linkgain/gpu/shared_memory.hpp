#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "linkgain/base/units.hpp"
#include "linkgain/gpu/buffer.hpp"

namespace linkgain::gpu {

/// What another process of this host needs to reach the memory, by cudaIpcOpenMemHandle. Throws
/// CudaError.
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

/// Page-locked host memory that processes of one host share (POSIX shared memory) and the current
/// device reads and writes. Movable, not copyable.
class SharedHostMemory {
 public:
  /// Makes a segment of that name ("/..."), filled with zeros, which must not be there yet. Throws
  /// MachineError where /dev/shm has no room for it, CudaError where it cannot be page-locked.
  static SharedHostMemory make(const std::string& name, Bytes size);
  /// Opens one that another process has made. The same errors.
  static SharedHostMemory open(const std::string& name, Bytes size);

  SharedHostMemory(SharedHostMemory&& other) noexcept;
  SharedHostMemory& operator=(SharedHostMemory&& other) noexcept;
  ~SharedHostMemory();

  /// As the device and this process see it.
  void* data() const noexcept { return memory_; }
  Bytes size() const noexcept { return size_; }

 private:
  SharedHostMemory(int file, const std::string& name, Bytes size);

  void* memory_ = nullptr;
  Bytes size_{};
  bool locked_ = false;
};

/// Takes the name away; the memory lives on where it is open.
void remove_shared_memory(const std::string& name) noexcept;

}  // namespace linkgain::gpu
