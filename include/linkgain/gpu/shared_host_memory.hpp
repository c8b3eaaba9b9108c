#pragma once

#include <cstddef>
#include <string>

#include "linkgain/base/units.hpp"

namespace linkgain::gpu {

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
