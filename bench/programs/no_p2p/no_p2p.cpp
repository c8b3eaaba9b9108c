#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

/// Refuses peer access between GPUs in the program that loads this library by LD_PRELOAD: the
/// variant no-p2p of `linkgain exec`. It stands before functions of the CUDA driver API and NVML,
/// however a program finds them, and passes on every call that asks for no peer access. It needs
/// glibc 2.17 or newer alone and declares of cuda.h (CUDA 13.0) and nvml.h what it uses.
#if defined(__x86_64__)
#define LINKGAIN_FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define LINKGAIN_FIRST_GLIBC "GLIBC_2.17"
#endif
// Takes the first versions, which libdl.so.2 has in older containers and libc.so.6 from 2.34 on.
asm(".symver dlopen, dlopen@" LINKGAIN_FIRST_GLIBC);
asm(".symver dlclose, dlclose@" LINKGAIN_FIRST_GLIBC);
asm(".symver dlvsym, dlvsym@" LINKGAIN_FIRST_GLIBC);

namespace {

using CUresult = int;
constexpr CUresult kSuccess = 0;                // CUDA_SUCCESS
constexpr CUresult kPeerUnsupported = 217;      // CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
constexpr CUresult kNotFound = 500;             // CUDA_ERROR_NOT_FOUND
constexpr CUresult kNotSupported = 801;         // CUDA_ERROR_NOT_SUPPORTED
constexpr int kPerformanceRank = 1;             // CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK
constexpr int kMulticastSupported = 132;        // CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED
constexpr int kLocationDevice = 1;              // CU_MEM_LOCATION_TYPE_DEVICE
constexpr int kLocationHost = 2;                // CU_MEM_LOCATION_TYPE_HOST
constexpr int kNoAccess = 0;                    // CU_MEM_ACCESS_FLAGS_PROT_NONE
constexpr int kNvmlP2pOk = 0;                   // NVML_P2P_STATUS_OK
constexpr int kNvmlP2pNotSupported = 5;         // NVML_P2P_STATUS_NOT_SUPPORTED
constexpr int kFirstWithProcAddressV2 = 12000;  // from there cuGetProcAddress means _v2

struct CUmemLocation {
  int type;
  int id;
};

struct CUmemAccessDesc {
  CUmemLocation location;
  int flags;
};

/// CUmemAllocationProp, with room for what later versions add.
struct CUmemAllocationProp {
  int type;
  int handle_types;
  CUmemLocation location;
  std::byte others[112];
};

struct CUipcMemHandle {
  char reserved[64];
};

using DeviceAddress = unsigned long long;
using MemoryHandle = unsigned long long;
/// Device memory is mapped in units of it (cuMemGetAllocationGranularity).
constexpr DeviceAddress kGranularity = DeviceAddress{2} << 20;

using FindSymbol = void* (*)(void*, const char*);

/// A function that this library stands before.
struct Function {
  const char* name;
  void* (*own)();                    ///< gives what programs get instead
  std::atomic<void*> real{nullptr};  ///< what they would have found
  std::atomic<bool> is_noted{false};
};

/// Places in `functions`.
enum Index {
  can_access_peer,
  p2p_attribute,
  device_attribute,
  enable_peer_access,
  set_access,
  pool_set_access,
  ipc_open,
  ipc_open_v2,
  import_memory,
  import_pool,
  import_pool_pointer,
  proc_address,
  proc_address_v2,
  p2p_status,
  function_count
};
extern Function functions[function_count];

/// Finds the dlsym() that programs would have; null where the C library is not glibc.
FindSymbol real_dlsym() {
  static constinit std::atomic<FindSymbol> known{nullptr};
  if (const FindSymbol found = known) return found;
  for (const char* version : {"GLIBC_2.34", LINKGAIN_FIRST_GLIBC}) {
    if (void* found = dlvsym(RTLD_NEXT, "dlsym", version)) {
      known = reinterpret_cast<FindSymbol>(found);
      break;
    }
  }
  return known;
}

/// Finds a function in the library that has it, if the program has loaded that; else behind this
/// library in the order in which symbols are looked for.
void* find_in_driver(const char* name) {
  const FindSymbol find = real_dlsym();
  if (find == nullptr) return nullptr;
  const char* const file = name[0] == 'n' ? "libnvidia-ml.so.1" : "libcuda.so.1";
  if (void* const library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD)) {
    void* const found = find(library, name);
    dlclose(library);
    if (found != nullptr) return found;
  }
  return find(RTLD_NEXT, name);
}

template <typename Signature>
Signature* driver_function(const char* name) {
  return reinterpret_cast<Signature*>(find_in_driver(name));
}

/// Keeps the first function that a program would have found, and gives what it gets.
void* wrapped(Function& function, void* found) {
  void* unknown = nullptr;
  if (found != function.own()) function.real.compare_exchange_strong(unknown, found);
  return function.own();
}

/// Calls what programs would have called. Their arguments' types are those of its parameters.
template <typename... Arguments>
CUresult call(Function& function, Arguments... arguments) {
  if (function.real == nullptr) {
    if (void* const found = find_in_driver(function.name)) wrapped(function, found);
  }
  auto* const real = reinterpret_cast<CUresult (*)(Arguments...)>(function.real.load());
  return real == nullptr ? kNotFound : real(arguments...);
}

/// Adds a line to an open file unless it has it: each process of a program refuses the same.
void add_line(int file, const char* name) {
  char text[4096] = "\n";
  const ssize_t size = read(file, text + 1, sizeof(text) - 2);
  text[1 + std::max<ssize_t>(0, size)] = '\0';
  char line[64] = "\n";
  std::strncat(line, name, sizeof(line) - 3);
  std::strcat(line, "\n");
  if (std::strstr(text, line) != nullptr) return;
  const std::size_t length = std::strlen(line + 1);
  if (write(file, line + 1, length) != static_cast<ssize_t>(length)) return;  // it is full
}

/// Notes in the file that LINKGAIN_NO_P2P_LOG names that the function refused something, once.
void note(Function& function) {
  if (function.is_noted.exchange(true)) return;
  const int error = errno;
  const char* const path = std::getenv("LINKGAIN_NO_P2P_LOG");
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file >= 0) {
    while (flock(file, LOCK_EX) != 0 && errno == EINTR) {
    }
    add_line(file, function.name);
    close(file);
  }
  errno = error;
}

CUresult refuse(Function& function, CUresult result) {
  note(function);
  return result;
}

/// Turns the answer that something is supported into one that it is not.
CUresult deny(Function& function, CUresult result, int* value) {
  if (result != kSuccess || *value == 0) return result;
  *value = 0;
  return refuse(function, result);
}

/// Gives the location of an allocation; absent where the driver does not say.
std::optional<CUmemLocation> location_of(MemoryHandle handle) {
  auto* const properties = driver_function<CUresult(CUmemAllocationProp*, MemoryHandle)>(
      "cuMemGetAllocationPropertiesFromHandle");
  CUmemAllocationProp found{};
  if (properties == nullptr || properties(&found, handle) != kSuccess) return std::nullopt;
  return found.location;
}

/// Gives the location of the allocation that is mapped at an address.
std::optional<CUmemLocation> location_at(DeviceAddress address) {
  auto* const retain =
      driver_function<CUresult(MemoryHandle*, void*)>("cuMemRetainAllocationHandle");
  auto* const release = driver_function<CUresult(MemoryHandle)>("cuMemRelease");
  MemoryHandle handle = 0;
  if (retain == nullptr || release == nullptr) return std::nullopt;
  if (retain(&handle, reinterpret_cast<void*>(address)) != kSuccess) return std::nullopt;
  const std::optional<CUmemLocation> found = location_of(handle);
  release(handle);
  return found;
}

/// Tells whether a pool is another device's: its own always has access, as the host has to its own,
/// and no other device was ever given any.
bool is_pool_of_other_device(void* pool, CUmemLocation device) {
  auto* const access = driver_function<CUresult(int*, void*, CUmemLocation*)>("cuMemPoolGetAccess");
  int by_device = 0;
  int by_host = kNoAccess;
  CUmemLocation host{kLocationHost, 0};
  if (access == nullptr || access(&by_device, pool, &device) != kSuccess) return false;
  const bool is_of_host = access(&by_host, pool, &host) == kSuccess && by_host != kNoAccess;
  return by_device == kNoAccess && !is_of_host;
}

/// Tells whether a list of descriptors gives access to a device for which `is_other` holds.
template <typename IsOther>
bool gives_access(const CUmemAccessDesc* all, std::size_t count, const IsOther& is_other) {
  return all != nullptr && std::any_of(all, all + count, [&](const CUmemAccessDesc& each) {
           return each.location.type == kLocationDevice && each.flags != kNoAccess &&
                  is_other(each.location);
         });
}

Function* find_function(const char* name) {
  if (name == nullptr || (name[0] != 'c' && name[0] != 'n')) return nullptr;
  for (Function& each : functions) {
    if (std::strcmp(each.name, name) == 0) return &each;
  }
  return nullptr;
}

/// Does what both versions of cuGetProcAddress do; the first ignores `status`.
CUresult find_address(Function& function, const char* name, void** found, int version,
                      std::uint64_t flags, int* status) {
  const CUresult result = call(function, name, found, version, flags, status);
  if (result != kSuccess || found == nullptr || *found == nullptr) return result;
  Function* wanted = find_function(name);
  if (wanted == &functions[proc_address] && version >= kFirstWithProcAddressV2) {
    wanted = &functions[proc_address_v2];
  }
  if (wanted != nullptr) *found = wrapped(*wanted, *found);
  return result;
}

}  // namespace

#define LINKGAIN_EXPORTED extern "C" __attribute__((visibility("default")))

LINKGAIN_EXPORTED CUresult cuDeviceCanAccessPeer(int* can, int device, int peer) {
  Function& own = functions[can_access_peer];
  return deny(own, call(own, can, device, peer), can);
}

LINKGAIN_EXPORTED CUresult cuDeviceGetP2PAttribute(int* value, int attribute, int device,
                                                   int peer) {
  Function& own = functions[p2p_attribute];
  const CUresult result = call(own, value, attribute, device, peer);
  return attribute == kPerformanceRank ? result : deny(own, result, value);
}

LINKGAIN_EXPORTED CUresult cuDeviceGetAttribute(int* value, int attribute, int device) {
  Function& own = functions[device_attribute];
  const CUresult result = call(own, value, attribute, device);
  return attribute == kMulticastSupported ? deny(own, result, value) : result;
}

LINKGAIN_EXPORTED CUresult cuCtxEnablePeerAccess(void*, unsigned) {
  return refuse(functions[enable_peer_access], kPeerUnsupported);
}

LINKGAIN_EXPORTED CUresult cuMemSetAccess(DeviceAddress address, std::size_t size,
                                          const CUmemAccessDesc* all, std::size_t count) {
  Function& own = functions[set_access];
  DeviceAddress part = address;
  while (part - address < size) {
    const std::optional<CUmemLocation> owner = location_at(part);
    if (!owner) break;  // the driver refuses a range with a part that is not mapped
    const auto is_other = [&](CUmemLocation device) { return device.id != owner->id; };
    if (owner->type == kLocationDevice && gives_access(all, count, is_other)) {
      return refuse(own, kNotSupported);
    }
    part = (part / kGranularity + 1) * kGranularity;
  }
  return call(own, address, size, all, count);
}

LINKGAIN_EXPORTED CUresult cuMemPoolSetAccess(void* pool, const CUmemAccessDesc* all,
                                              std::size_t count) {
  Function& own = functions[pool_set_access];
  const auto is_other = [&](CUmemLocation device) { return is_pool_of_other_device(pool, device); };
  if (gives_access(all, count, is_other)) return refuse(own, kNotSupported);
  return call(own, pool, all, count);
}

LINKGAIN_EXPORTED CUresult cuIpcOpenMemHandle(DeviceAddress*, CUipcMemHandle, unsigned) {
  return refuse(functions[ipc_open], kPeerUnsupported);
}

LINKGAIN_EXPORTED CUresult cuIpcOpenMemHandle_v2(DeviceAddress*, CUipcMemHandle, unsigned) {
  return refuse(functions[ipc_open_v2], kPeerUnsupported);
}

/// Lets memory of the host in, which NCCL's ranks exchange by SHM.
LINKGAIN_EXPORTED CUresult cuMemImportFromShareableHandle(MemoryHandle* handle, void* shared,
                                                          int type) {
  Function& own = functions[import_memory];
  const CUresult result = call(own, handle, shared, type);
  if (result != kSuccess) return result;
  const std::optional<CUmemLocation> location = location_of(*handle);
  auto* const release = driver_function<CUresult(MemoryHandle)>("cuMemRelease");
  if (!location || location->type != kLocationDevice || release == nullptr) return result;
  release(*handle);
  *handle = 0;
  return refuse(own, kNotSupported);
}

LINKGAIN_EXPORTED CUresult cuMemPoolImportFromShareableHandle(void**, void*, int,
                                                              unsigned long long) {
  return refuse(functions[import_pool], kNotSupported);
}

LINKGAIN_EXPORTED CUresult cuMemPoolImportPointer(DeviceAddress*, void*, void*) {
  return refuse(functions[import_pool_pointer], kNotSupported);
}

LINKGAIN_EXPORTED CUresult cuGetProcAddress(const char* name, void** found, int version,
                                            std::uint64_t flags) {
  return find_address(functions[proc_address], name, found, version, flags, nullptr);
}

LINKGAIN_EXPORTED CUresult cuGetProcAddress_v2(const char* name, void** found, int version,
                                               std::uint64_t flags, int* status) {
  return find_address(functions[proc_address_v2], name, found, version, flags, status);
}

LINKGAIN_EXPORTED int nvmlDeviceGetP2PStatus(void* device, void* peer, int index, int* status) {
  Function& own = functions[p2p_status];
  const int result = call(own, device, peer, index, status);
  if (result != kSuccess || device == peer || *status != kNvmlP2pOk) return result;
  *status = kNvmlP2pNotSupported;
  return refuse(own, result);
}

namespace {

/// Gives the address of a function when it is asked for it: the table must be there before any code
/// of this library runs, as dlsym() is called by the first library that is initialized.
template <auto* function>
void* address_of() {
  return reinterpret_cast<void*>(function);
}

#define LINKGAIN_FUNCTION(name) \
  { #name, address_of < name> }

constinit Function functions[function_count] = {
    LINKGAIN_FUNCTION(cuDeviceCanAccessPeer),
    LINKGAIN_FUNCTION(cuDeviceGetP2PAttribute),
    LINKGAIN_FUNCTION(cuDeviceGetAttribute),
    LINKGAIN_FUNCTION(cuCtxEnablePeerAccess),
    LINKGAIN_FUNCTION(cuMemSetAccess),
    LINKGAIN_FUNCTION(cuMemPoolSetAccess),
    LINKGAIN_FUNCTION(cuIpcOpenMemHandle),
    LINKGAIN_FUNCTION(cuIpcOpenMemHandle_v2),
    LINKGAIN_FUNCTION(cuMemImportFromShareableHandle),
    LINKGAIN_FUNCTION(cuMemPoolImportFromShareableHandle),
    LINKGAIN_FUNCTION(cuMemPoolImportPointer),
    LINKGAIN_FUNCTION(cuGetProcAddress),
    LINKGAIN_FUNCTION(cuGetProcAddress_v2),
    LINKGAIN_FUNCTION(nvmlDeviceGetP2PStatus)};

/// Gives what dlsym() returns, or the dlsym() that is to be asked instead.
struct Lookup {
  void* found;
  FindSymbol ask;
};

}  // namespace

/// Decides what dlsym() does, which is below. For RTLD_DEFAULT and RTLD_NEXT a function of the
/// driver is there if its library is loaded: without that a lookup would find this library's.
extern "C" __attribute__((visibility("hidden"), used)) Lookup linkgain_look_up(void* handle,
                                                                               const char* name) {
  const FindSymbol find = real_dlsym();
  Function* const function = find_function(name);
  if (find == nullptr || function == nullptr) return {nullptr, find};
  const bool is_in_scope = handle == RTLD_DEFAULT || handle == RTLD_NEXT;
  void* found = is_in_scope ? function->own() : find(handle, name);
  if (found == function->own()) found = find_in_driver(name);
  return {found == nullptr ? nullptr : wrapped(*function, found), nullptr};
}

// dlsym() jumps to the C library's with the caller's return address on the stack: RTLD_NEXT and
// RTLD_DEFAULT mean what they mean to the library that asks.
#if defined(__x86_64__)
asm(R"(
  .text
  .globl dlsym
  .type dlsym, @function
dlsym:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call linkgain_look_up
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testq %rdx, %rdx
  je 1f
  jmp *%rdx
1:
  ret
  .cfi_endproc
  .size dlsym, .-dlsym
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .globl dlsym
  .type dlsym, %function
dlsym:
  .cfi_startproc
  hint #34
  stp x29, x30, [sp, #-32]!
  .cfi_adjust_cfa_offset 32
  .cfi_offset x30, -24
  stp x0, x1, [sp, #16]
  bl linkgain_look_up
  mov x16, x1
  mov x17, x0
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_adjust_cfa_offset -32
  cbz x16, 1f
  br x16
1:
  mov x0, x17
  ret
  .cfi_endproc
  .size dlsym, .-dlsym
)");
#else
#error "dlsym() is not written for this processor"
#endif
