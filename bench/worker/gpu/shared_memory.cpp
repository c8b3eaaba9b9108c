#include "linkgain/gpu/shared_memory.hpp"

#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {
namespace {

[[noreturn]] void refuse(const std::string& name, Bytes size, int error) {
  throw MachineError(fmt::format("no {} of shared memory (/dev/shm{}): {}", readable_bytes(size),
                                 name, std::strerror(error)),
                     "give the container more (--shm-size), or choose smaller sizes");
}

/// Closes the file at the end of its use; the mapping stays.
class File {
 public:
  explicit File(int number) : number_(number) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

cudaIpcMemHandle_t export_memory(const DeviceBuffer& memory) {
  cudaIpcMemHandle_t handle{};
  check(cudaIpcGetMemHandle(&handle, memory.data()));
  return handle;
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

SharedHostMemory SharedHostMemory::make(const std::string& name, Bytes size) {
  const File file(::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR));
  if (file.number() < 0) refuse(name, size, errno);
  // Room that is only promised would end the process at its first use.
  if (const int error = ::posix_fallocate(file.number(), 0, size.value); error != 0) {
    remove_shared_memory(name);
    refuse(name, size, error);
  }
  try {
    return SharedHostMemory(file.number(), name, size);
  } catch (...) {
    remove_shared_memory(name);
    throw;
  }
}

SharedHostMemory SharedHostMemory::open(const std::string& name, Bytes size) {
  const File file(::shm_open(name.c_str(), O_RDWR, 0));
  if (file.number() < 0) refuse(name, size, errno);
  return SharedHostMemory(file.number(), name, size);
}

SharedHostMemory::SharedHostMemory(int file, const std::string& name, Bytes size) : size_(size) {
  const auto bytes = static_cast<std::size_t>(size.value);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) refuse(name, size, errno);
  memory_ = memory;
  const cudaError_t status =
      cudaHostRegister(memory_, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
  locked_ = status == cudaSuccess;
  if (!locked_) ::munmap(std::exchange(memory_, nullptr), bytes);
  check(status);
}

SharedHostMemory::SharedHostMemory(SharedHostMemory&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      size_(other.size_),
      locked_(std::exchange(other.locked_, false)) {}

SharedHostMemory& SharedHostMemory::operator=(SharedHostMemory&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  std::swap(locked_, other.locked_);
  return *this;
}

SharedHostMemory::~SharedHostMemory() {
  if (memory_ == nullptr) return;
  if (locked_) cudaHostUnregister(memory_);
  ::munmap(memory_, static_cast<std::size_t>(size_.value));
}

void remove_shared_memory(const std::string& name) noexcept { ::shm_unlink(name.c_str()); }

}  // namespace linkgain::gpu
