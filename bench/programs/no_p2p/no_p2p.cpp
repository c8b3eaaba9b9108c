#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
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
asm(".symver dladdr, dladdr@" LINKGAIN_FIRST_GLIBC);
asm(".symver dlopen, dlopen@" LINKGAIN_FIRST_GLIBC);
asm(".symver dlclose, dlclose@" LINKGAIN_FIRST_GLIBC);

// What programs get for dlsym() and dlvsym(): below.
extern "C" {
__attribute__((visibility("hidden"))) extern const char linkgain_dlsym[];
__attribute__((visibility("hidden"))) extern const char linkgain_dlvsym[];
}

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

using FindSymbol = void* (*)(void*, const char*);
using FindVersion = void* (*)(void*, const char*, const char*);

std::uint32_t gnu_hash(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

/// Finds a function in a loaded library by its table DT_GNU_HASH, whatever its version; null where
/// there is none.
void* find_exported(const dl_phdr_info& library, const char* name) {
  const ElfW(Dyn)* part = nullptr;
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = library.dlpi_phdr[i];
    if (header.p_type != PT_DYNAMIC) continue;
    part = reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + header.p_vaddr);
  }
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* table = nullptr;
  for (; part != nullptr && part->d_tag != DT_NULL; ++part) {
    if (part->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(part->d_un.d_ptr);
    if (part->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(part->d_un.d_ptr);
    if (part->d_tag == DT_GNU_HASH)
      table = reinterpret_cast<const std::uint32_t*>(part->d_un.d_ptr);
  }
  if (symbols == nullptr || names == nullptr || table == nullptr || table[0] == 0) return nullptr;
  constexpr std::uint32_t kWordsOfHeader = 4;
  constexpr std::uint32_t kWordsOfMask = sizeof(ElfW(Addr)) / sizeof(std::uint32_t);
  const std::uint32_t* const buckets = table + kWordsOfHeader + table[2] * kWordsOfMask;
  const std::uint32_t* const hashes = buckets + table[0];
  const std::uint32_t first = table[1];  // symbol that has a hash
  const std::uint32_t hash = gnu_hash(name);
  for (std::uint32_t i = buckets[hash % table[0]]; i >= first; ++i) {
    const std::uint32_t each = hashes[i - first];  // its last bit ends the bucket
    if ((each | 1) == (hash | 1) && std::strcmp(names + symbols[i].st_name, name) == 0) {
      return reinterpret_cast<void*>(library.dlpi_addr + symbols[i].st_value);
    }
    if ((each & 1) != 0) break;
  }
  return nullptr;
}

/// Finds a function of the C library: a name that is linked would find this library's. Null where
/// it is not glibc.
template <typename Signature>
Signature in_c_library(const char* name) {
  static constinit std::atomic<void*> known{nullptr};
  const auto look = [](dl_phdr_info* library, std::size_t, void* wanted) {
    const char* const file = std::strrchr(library->dlpi_name, '/');
    if (file == nullptr) return 0;
    if (std::strcmp(file, "/libc.so.6") != 0 && std::strcmp(file, "/libdl.so.2") != 0) return 0;
    void* const found = find_exported(*library, static_cast<const char*>(wanted));
    if (found != nullptr) known = found;
    return found == nullptr ? 0 : 1;
  };
  if (known == nullptr) dl_iterate_phdr(look, const_cast<char*>(name));
  return reinterpret_cast<Signature>(known.load());
}

FindVersion real_dlvsym() { return in_c_library<FindVersion>("dlvsym"); }
FindSymbol real_dlsym() { return in_c_library<FindSymbol>("dlsym"); }

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

void write_line(const char* text);

/// Keeps the first function that a program would have found, and its library loaded when the
/// program closes it; gives what the program gets.
void* wrapped(Function& function, void* found) {
  static constinit std::atomic<bool> is_noted{false};
  if (!is_noted.exchange(true)) write_line("loaded");
  void* unknown = nullptr;
  Dl_info place{};
  if (found != function.own() && function.real.compare_exchange_strong(unknown, found) &&
      dladdr(found, &place) != 0) {
    dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
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
void add_line(int file, const char* added) {
  char text[4096] = "\n";
  const ssize_t size = read(file, text + 1, sizeof(text) - 2);
  text[1 + std::max<ssize_t>(0, size)] = '\0';
  char line[64] = "\n";
  std::strncat(line, added, sizeof(line) - 3);
  std::strcat(line, "\n");
  if (std::strstr(text, line) != nullptr) return;
  const std::size_t length = std::strlen(line + 1);
  if (write(file, line + 1, length) != static_cast<ssize_t>(length)) return;  // it is full
}

/// Adds a line to the file that LINKGAIN_NO_P2P_LOG names.
void write_line(const char* text) {
  const int error = errno;
  const char* const path = std::getenv("LINKGAIN_NO_P2P_LOG");
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file >= 0) {
    while (flock(file, LOCK_EX) != 0 && errno == EINTR) {
    }
    add_line(file, text);
    close(file);
  }
  errno = error;
}

/// Notes that the function refused something, once.
void note(Function& function) {
  if (!function.is_noted.exchange(true)) write_line(function.name);
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

/// Tells whether a location has access to a pool, as its own always has; absent where the driver
/// does not say.
std::optional<bool> has_access(void* pool, CUmemLocation location) {
  auto* const access = driver_function<CUresult(int*, void*, CUmemLocation*)>("cuMemPoolGetAccess");
  int flags = kNoAccess;
  if (access == nullptr || access(&flags, pool, &location) != kSuccess) return std::nullopt;
  return flags != kNoAccess;
}

bool is_pool_of_host(void* pool) { return has_access(pool, {kLocationHost, 0}).value_or(false); }

/// Tells whether a pool is another device's: no other device was ever given access.
bool is_pool_of_other_device(void* pool, CUmemLocation device) {
  return has_access(pool, device) == false && !is_pool_of_host(pool);
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

LINKGAIN_EXPORTED CUresult cuMemPoolImportFromShareableHandle(void** pool, void* shared, int type,
                                                              unsigned long long flags) {
  Function& own = functions[import_pool];
  const CUresult result = call(own, pool, shared, type, flags);
  if (result != kSuccess || is_pool_of_host(*pool)) return result;
  if (auto* const destroy = driver_function<CUresult(void*)>("cuMemPoolDestroy")) destroy(*pool);
  *pool = nullptr;
  return refuse(own, kNotSupported);
}

LINKGAIN_EXPORTED CUresult cuMemPoolImportPointer(DeviceAddress* address, void* pool,
                                                  void* shared) {
  Function& own = functions[import_pool_pointer];
  return is_pool_of_host(pool) ? call(own, address, pool, shared) : refuse(own, kNotSupported);
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

/// Gives what dlsym() or dlvsym() returns, or the one that is to be asked instead.
struct Lookup {
  void* found;
  void* ask;
};

/// Gives what stands before dlsym() and dlvsym() where a program found the C library's; else null.
void* in_place_of(void* found) {
  if (found == reinterpret_cast<void*>(real_dlsym())) return const_cast<char*>(linkgain_dlsym);
  if (found == reinterpret_cast<void*>(real_dlvsym())) return const_cast<char*>(linkgain_dlvsym);
  return nullptr;
}

}  // namespace

/// Decides what dlsym(), for which `version` is null, and dlvsym() do, which are below. For
/// RTLD_DEFAULT and RTLD_NEXT a function of the driver is there if its library is loaded: without
/// that a lookup would find this library's. Where another library stands before dlsym() itself,
/// RTLD_NEXT means what it means to that library, which would else find itself.
extern "C" __attribute__((visibility("hidden"), used)) Lookup linkgain_look_up(
    void* handle, const char* name, const char* version) {
  const FindSymbol find = real_dlsym();
  const FindVersion find_version = real_dlvsym();
  const Lookup ask{nullptr, version == nullptr ? reinterpret_cast<void*>(find)
                                               : reinterpret_cast<void*>(find_version)};
  if (find == nullptr || name == nullptr) return ask;
  const bool is_in_scope = handle == RTLD_DEFAULT || handle == RTLD_NEXT;
  const auto look = [&] {
    return version == nullptr ? find(handle, name) : find_version(handle, name, version);
  };
  Function* const function = find_function(name);
  if (function == nullptr) {
    if (std::strcmp(name, "dlsym") != 0 && std::strcmp(name, "dlvsym") != 0) return ask;
    void* const own = in_place_of(look());
    return own == nullptr ? ask : Lookup{own, nullptr};
  }
  void* found = is_in_scope ? function->own() : look();
  if (found == function->own()) found = find_in_driver(name);
  return {found == nullptr ? nullptr : wrapped(*function, found), nullptr};
}

// dlsym() and dlvsym() jump to the C library's with the caller's return address on the stack:
// RTLD_NEXT and RTLD_DEFAULT mean what they mean to the library that asks.
#if defined(__x86_64__)
asm(R"(
  .text
  .globl dlsym, dlvsym
  .type dlsym, @function
  .type dlvsym, @function
dlsym:
linkgain_dlsym:
  .cfi_startproc
  endbr64
  xorl %edx, %edx
  .cfi_endproc
  .size dlsym, .-dlsym
dlvsym:
linkgain_dlvsym:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  call linkgain_look_up
  movq %rdx, %rcx
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testq %rcx, %rcx
  je 1f
  jmp *%rcx
1:
  ret
  .cfi_endproc
  .size dlvsym, .-dlvsym
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .globl dlsym, dlvsym
  .type dlsym, %function
  .type dlvsym, %function
dlsym:
linkgain_dlsym:
  .cfi_startproc
  hint #34
  mov x2, xzr
  .cfi_endproc
  .size dlsym, .-dlsym
dlvsym:
linkgain_dlvsym:
  .cfi_startproc
  hint #34
  stp x29, x30, [sp, #-48]!
  .cfi_adjust_cfa_offset 48
  .cfi_offset x30, -40
  stp x0, x1, [sp, #16]
  str x2, [sp, #32]
  bl linkgain_look_up
  mov x16, x1
  mov x17, x0
  ldp x0, x1, [sp, #16]
  ldr x2, [sp, #32]
  ldp x29, x30, [sp], #48
  .cfi_adjust_cfa_offset -48
  cbz x16, 1f
  br x16
1:
  mov x0, x17
  ret
  .cfi_endproc
  .size dlvsym, .-dlvsym
)");
#else
#error "dlsym() is not written for this processor"
#endif
