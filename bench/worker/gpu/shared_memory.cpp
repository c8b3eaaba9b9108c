#include "linkgain/gpu/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain::gpu {
namespace {

[[noreturn]] void refuse(const std::string& what, Bytes size, int error) {
  throw MachineError(fmt::format("no {} of shared memory ({}): {}", readable_bytes(size), what,
                                 std::strerror(error)),
                     "free memory, give the container more (--shm-size), or choose smaller sizes");
}

/// Makes a name that no other process has: names of processes of several containers may meet in one
/// folder, and their numbers be the same.
std::string new_name() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return fmt::format("linkgain-{}-{}", ::getpid(), now);
}

/// Returns the kernel's words for a file of memfd_create() of that name, where /proc has a link to
/// it.
std::string link_to(const std::string& name) { return fmt::format("/memfd:{} (deleted)", name); }

std::string linked_at(const std::string& path) {
  std::error_code error;
  return std::filesystem::read_symlink(path, error).string();
}

constexpr std::string_view kThroughProcess = "/proc/";

/// Allocates the room now: what is only promised would end the process at its first use. Returns 0
/// or an error number.
int take_room(int file, Bytes size) { return ::posix_fallocate(file, 0, size.value); }

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

SharedHostMemory SharedHostMemory::make(Bytes size) {
  // The kernel would go on to take pages, and end processes for them.
  if (available_memory().value_or(size.value) < size.value) refuse("memory", size, ENOMEM);
  const std::string name = new_name();
  const int file = ::memfd_create(name.c_str(), MFD_CLOEXEC);
  if (file < 0) refuse("memfd_create", size, errno);
  if (const int error = take_room(file, size); error != 0) {
    ::close(file);
    refuse("memory", size, error);
  }
  return SharedHostMemory(file, fmt::format("/proc/{}/fd/{} {}", ::getpid(), file, name), size);
}

SharedHostMemory SharedHostMemory::make_named(Bytes size) {
  const std::string name = "/" + new_name();
  const int file = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  if (file < 0) refuse("/dev/shm" + name, size, errno);
  if (const int error = take_room(file, size); error != 0) {
    ::close(file);
    ::shm_unlink(name.c_str());
    refuse("/dev/shm" + name, size, error);
  }
  return SharedHostMemory(file, name, size);
}

SharedHostMemory SharedHostMemory::open(const std::string& address, Bytes size) {
  if (!address.starts_with(kThroughProcess)) {
    const int named = ::shm_open(address.c_str(), O_RDWR, 0);
    if (named < 0) refuse("/dev/shm" + address, size, errno);
    return SharedHostMemory(named, {}, size);
  }
  const std::size_t space = address.find(' ');
  const std::string path = address.substr(0, space);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) refuse(path, size, errno);
  // Seen from another container the process of that number is another one.
  if (linked_at(fmt::format("/proc/self/fd/{}", file)) != link_to(address.substr(space + 1))) {
    ::close(file);
    refuse(path, size, ENOENT);
  }
  return SharedHostMemory(file, {}, size);
}

SharedHostMemory::SharedHostMemory(int file, std::string address, Bytes size)
    : file_(file), address_(std::move(address)), size_(size) {
  const auto bytes = static_cast<std::size_t>(size.value);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  if (!address_.starts_with(kThroughProcess)) ::close(std::exchange(file_, -1));
  if (memory == MAP_FAILED) {
    withdraw();
    refuse("mmap", size, error);
  }
  const cudaError_t status =
      cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
  if (status != cudaSuccess) {
    ::munmap(memory, bytes);
    withdraw();
  }
  check(status);
  memory_ = memory;
}

void SharedHostMemory::swap(SharedHostMemory& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(address_, other.address_);
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
}

SharedHostMemory::SharedHostMemory(SharedHostMemory&& other) noexcept { swap(other); }

SharedHostMemory& SharedHostMemory::operator=(SharedHostMemory&& other) noexcept {
  swap(other);
  return *this;
}

void SharedHostMemory::withdraw() noexcept {
  if (file_ >= 0) {
    ::close(std::exchange(file_, -1));
  } else if (!address_.empty()) {
    ::shm_unlink(address_.c_str());
  }
  address_.clear();
}

SharedHostMemory::~SharedHostMemory() {
  withdraw();
  if (memory_ == nullptr) return;
  cudaHostUnregister(memory_);
  ::munmap(memory_, static_cast<std::size_t>(size_.value));
}

}  // namespace linkgain::gpu
