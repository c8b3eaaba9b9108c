#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <string>

/// A stand-in for libcuda.so.1 and libnvidia-ml.so.1 of two GPUs that allow peer access, as far as
/// the library of no-p2p stands before them. Handles and addresses are numbers: 10 and 11 are on
/// GPU 0 and 1, 20 is on the host, others are none that the driver mapped. From 1 GiB on there is a
/// range of four mappings of 2 MiB: two on GPU 0, one on GPU 1, one on the host.
namespace {

struct Location {
  int type;
  int id;
};

struct Access {
  Location location;
  int flags;
};

struct IpcHandle {
  char bytes[64];
};

using Address = unsigned long long;

constexpr int kInvalid = 1;
constexpr int kNotFound = 500;
constexpr int kMulticastSupported = 132;

constexpr Address kRange = 1ULL << 30;
constexpr Address kMapping = 2ULL << 20;
constexpr Address kMappings[]{10, 10, 11, 20};

std::atomic<int> held{0};

Location location_of(Address number) {
  return number == 20 ? Location{2, 0} : Location{1, static_cast<int>(number) - 10};
}

}  // namespace

extern "C" {

int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device == peer ? 0 : 1;
  return 0;
}

int cuDeviceGetP2PAttribute(int* value, int attribute, int, int) {
  *value = attribute == 1 ? 7 : 1;
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == kMulticastSupported ? 1 : attribute;
  return 0;
}

int cuCtxEnablePeerAccess(void*, unsigned) { return 0; }
int cuMemSetAccess(Address, std::size_t, const Access*, std::size_t) { return 0; }
int cuMemPoolSetAccess(void*, const Access*, std::size_t) { return 0; }
int cuIpcOpenMemHandle(Address*, IpcHandle, unsigned) { return 0; }
int cuIpcOpenMemHandle_v2(Address*, IpcHandle, unsigned) { return 0; }

/// Imports the number that `shared` is.
int cuMemImportFromShareableHandle(Address* handle, void* shared, int) {
  *handle = reinterpret_cast<std::uintptr_t>(shared);
  ++held;
  return 0;
}

int cuMemPoolImportFromShareableHandle(void** pool, void* shared, int, unsigned long long) {
  *pool = shared;
  ++held;
  return 0;
}

int cuMemPoolDestroy(void*) {
  --held;
  return 0;
}

int cuMemPoolImportPointer(Address*, void*, void*) { return 0; }

int cuMemRetainAllocationHandle(Address* handle, void* address) {
  *handle = reinterpret_cast<std::uintptr_t>(address);
  if (*handle >= kRange && *handle < kRange + std::size(kMappings) * kMapping) {
    *handle = kMappings[(*handle - kRange) / kMapping];
  }
  if (*handle != 10 && *handle != 11 && *handle != 20) return kInvalid;
  ++held;
  return 0;
}

int cuMemGetAllocationPropertiesFromHandle(void* properties, Address handle) {
  const Location location = location_of(handle);
  std::memcpy(static_cast<char*>(properties) + 8, &location, sizeof(location));
  return 0;
}

int cuMemRelease(Address) {
  --held;
  return 0;
}

int cuMemPoolGetAccess(int* flags, void* pool, Location* location) {
  const Location own = location_of(reinterpret_cast<std::uintptr_t>(pool));
  *flags = own.type == location->type && own.id == location->id ? 3 : 0;
  return 0;
}

int cuMemcpyPeer(Address, void*, Address, void*, std::size_t) { return 0; }

int nvmlDeviceGetP2PStatus(void*, void*, int, int* status) {
  *status = 0;
  return 0;
}

/// Says how many allocations and imports are not released.
int double_held() { return held; }

/// Counts the libraries from this one on that have the function, which each finds as
/// dlsym(RTLD_NEXT) means it.
int double_depth() {
  const auto next = reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "double_depth"));
  return 1 + (next == nullptr ? 0 : next());
}

int cuGetProcAddress(const char* name, void** found, int version, std::uint64_t flags);

int cuGetProcAddress_v2(const char* name, void** found, int version, std::uint64_t, int* status) {
  const auto at = [](auto* function) { return reinterpret_cast<void*>(function); };
  const std::map<std::string, void*> functions{
      {"cuDeviceCanAccessPeer", at(cuDeviceCanAccessPeer)},
      {"cuDeviceGetP2PAttribute", at(cuDeviceGetP2PAttribute)},
      {"cuDeviceGetAttribute", at(cuDeviceGetAttribute)},
      {"cuCtxEnablePeerAccess", at(cuCtxEnablePeerAccess)},
      {"cuMemSetAccess", at(cuMemSetAccess)},
      {"cuMemPoolSetAccess", at(cuMemPoolSetAccess)},
      {"cuIpcOpenMemHandle", at(cuIpcOpenMemHandle)},
      {"cuIpcOpenMemHandle_v2", at(cuIpcOpenMemHandle_v2)},
      {"cuMemImportFromShareableHandle", at(cuMemImportFromShareableHandle)},
      {"cuMemPoolImportFromShareableHandle", at(cuMemPoolImportFromShareableHandle)},
      {"cuMemPoolImportPointer", at(cuMemPoolImportPointer)},
      {"cuMemcpyPeer", at(cuMemcpyPeer)},
      {"double_held", at(double_held)},
      {"cuGetProcAddress", version < 12000 ? at(cuGetProcAddress) : at(cuGetProcAddress_v2)},
      {"cuGetProcAddress_v2", at(cuGetProcAddress_v2)}};
  const auto row = functions.find(name);
  *found = row == functions.end() ? nullptr : row->second;
  *status = *found == nullptr ? 1 : 0;
  return *found == nullptr ? kNotFound : 0;
}

int cuGetProcAddress(const char* name, void** found, int version, std::uint64_t flags) {
  int status = 0;
  return cuGetProcAddress_v2(name, found, version, flags, &status);
}

}  // extern "C"
