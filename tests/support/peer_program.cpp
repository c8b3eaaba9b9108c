#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

/// A program that asks the driver for peer access by all functions that give it, which it finds in
/// the way that its first argument names: linked, handle, version, default, next, v1, v2, v1-of-v1,
/// v2-of-v2, reopened, or by a dlsym() that it finds: dlsym-of-dlsym, dlsym-of-dlvsym,
/// dlsym-of-dlvsym-of-dlsym, each also with -by-default or -by-next behind it. It prints what each
/// call gave, or with "threads" behind that calls from several and after fork() and prints nothing.
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

constexpr int kDevice = 1;
constexpr int kReadWrite = 3;
/// The double has two mappings on GPU 0 there, one on GPU 1 and one on the host.
constexpr Address kRange = 1ULL << 30;
constexpr Address kMapping = 2ULL << 20;
constexpr int kVersion11 = 11080;
constexpr int kVersion13 = 13000;

}  // namespace

extern "C" {
int cuDeviceCanAccessPeer(int*, int, int);
int cuDeviceGetP2PAttribute(int*, int, int, int);
int cuDeviceGetAttribute(int*, int, int);
int cuCtxEnablePeerAccess(void*, unsigned);
int cuMemSetAccess(Address, std::size_t, const Access*, std::size_t);
int cuMemPoolSetAccess(void*, const Access*, std::size_t);
int cuIpcOpenMemHandle(Address*, IpcHandle, unsigned);
int cuIpcOpenMemHandle_v2(Address*, IpcHandle, unsigned);
int cuMemImportFromShareableHandle(Address*, void*, int);
int cuMemPoolImportFromShareableHandle(void**, void*, int, unsigned long long);
int cuMemPoolImportPointer(Address*, void*, void*);
int cuMemcpyPeer(Address, void*, Address, void*, std::size_t);
int nvmlDeviceGetP2PStatus(void*, void*, int, int*);
int double_held();
int double_depth();
}

namespace {

using FindByHandle = void*(void*, const char*);
using FindByVersion = void*(void*, const char*, const char*);
using FindOld = int(const char*, void**, int, std::uint64_t);
using FindNew = int(const char*, void**, int, std::uint64_t, int*);

template <typename Signature>
Signature* by_handle(void* library, const char* name) {
  return reinterpret_cast<Signature*>(dlsym(library, name));
}

void* driver() {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library;
}

void* library_of(const char* name) {
  return name[0] == 'n' ? dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL) : driver();
}

/// Finds functions in both libraries, closes these and keeps their places in memory busy.
void open_and_close() {
  for (const char* file : {"libcuda.so.1", "libnvidia-ml.so.1"}) {
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    for (const char* name : {"cuDeviceGetAttribute", "nvmlDeviceGetP2PStatus"}) {
      dlsym(library, name);
    }
    Dl_info place{};
    dladdr(dlsym(library, "double_held"), &place);
    dlclose(library);
    for (std::size_t page = 0; page < 64; ++page) {
      mmap(static_cast<char*>(place.dli_fbase) + page * 4096, 4096, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    }
  }
}

/// Finds dlsym() itself as `way` says; null where it speaks of another way.
FindByHandle* found_dlsym(const std::string& way) {
  if (!way.starts_with("dlsym-of-")) return nullptr;
  void* const library = way.ends_with("-by-default") ? RTLD_DEFAULT
                        : way.ends_with("-by-next")  ? RTLD_NEXT
                                                     : dlopen("libdl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (way.starts_with("dlsym-of-dlsym")) return by_handle<FindByHandle>(library, "dlsym");
  auto* const find = way.starts_with("dlsym-of-dlvsym-of-dlsym")
                         ? by_handle<FindByVersion>(library, "dlvsym")
                         : &dlvsym;
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"}) {
    if (void* found = find(library, "dlsym", version)) {
      return reinterpret_cast<FindByHandle*>(found);
    }
  }
  return nullptr;
}

void* find_old(FindOld* find, const char* name, int version) {
  void* found = nullptr;
  return find(name, &found, version, 0) == 0 ? found : nullptr;
}

void* find_new(FindNew* find, const char* name, int version) {
  void* found = nullptr;
  int status = 0;
  return find(name, &found, version, 0, &status) == 0 ? found : nullptr;
}

/// Finds a function as `way` says. NVML has no cuGetProcAddress.
void* find(const std::string& way, const char* name) {
  if (way == "default") return dlsym(RTLD_DEFAULT, name);
  if (way == "next") return dlsym(RTLD_NEXT, name);
  if (way == "version") return dlvsym(library_of(name), name, "DRIVER_DOUBLE");
  if (auto* const found = found_dlsym(way)) return found(library_of(name), name);
  if (name[0] == 'n' || way == "handle" || way == "reopened") return dlsym(library_of(name), name);
  auto* const v1 = by_handle<FindOld>(driver(), "cuGetProcAddress");
  auto* const v2 = by_handle<FindNew>(driver(), "cuGetProcAddress_v2");
  if (way == "v1") return find_old(v1, name, kVersion11);
  if (way == "v2") return find_new(v2, name, kVersion13);
  if (way == "v1-of-v1") {
    return find_old(reinterpret_cast<FindOld*>(find_old(v1, "cuGetProcAddress", kVersion11)), name,
                    kVersion11);
  }
  return find_new(reinterpret_cast<FindNew*>(find_new(v2, "cuGetProcAddress", kVersion13)), name,
                  kVersion13);
}

#ifdef LINKED
#define FOUND(name) \
  (way == "linked" ? &(name) : reinterpret_cast<decltype(&(name))>(find(way, #name)))
#else
#define FOUND(name) reinterpret_cast<decltype(&(name))>(find(way, #name))
#endif

void* pointer(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

std::string line(const char* name, const std::vector<int>& values) {
  std::string text = name;
  for (const int value : values) text += " " + std::to_string(value);
  return text + "\n";
}

std::string ask(const std::string& way) {
  std::string text;
  int value = -1;
  int status = FOUND(cuDeviceCanAccessPeer)(&value, 0, 1);
  text += line("can access", {status, value});
  std::vector<int> attributes;
  for (int attribute = 1; attribute <= 5; ++attribute) {
    FOUND(cuDeviceGetP2PAttribute)(&attributes.emplace_back(), attribute, 0, 1);
  }
  text += line("attributes of the pair", attributes);
  for (const int attribute : {132, 75}) {
    status = FOUND(cuDeviceGetAttribute)(&value, attribute, 0);
    text += line("attribute", {attribute, status, value});
  }
  text += line("enable", {FOUND(cuCtxEnablePeerAccess)(pointer(1), 0)});
  const Access own{{kDevice, 0}, kReadWrite};
  const Access both[]{own, {{kDevice, 1}, kReadWrite}};
  const Access closed[]{own, {{kDevice, 1}, 0}};
  const Access host{{2, 0}, kReadWrite};
  auto* const set = FOUND(cuMemSetAccess);
  text += line("own, both, closed, host", {set(10, 1, &own, 1), set(10, 1, both, 2),
                                           set(10, 1, closed, 2), set(10, 1, &host, 1)});
  text += line("the host's, unknown", {set(20, 1, both, 2), set(99, 1, both, 2)});
  const Access peer{{kDevice, 1}, kReadWrite};
  const auto set_range = [&](Address first, std::size_t mappings, const Access& access) {
    return set(kRange + first * kMapping, mappings * kMapping, &access, 1);
  };
  text += line("ranges: own, with the peer's, the peer's and the host's, the host's",
               {set_range(0, 2, own), set_range(0, 3, own), set_range(1, 3, own),
                set_range(1, 2, peer), set_range(2, 2, peer), set_range(3, 1, own)});
  auto* const set_pool = FOUND(cuMemPoolSetAccess);
  text += line("pool: own, both, closed, the host's",
               {set_pool(pointer(10), &own, 1), set_pool(pointer(10), both, 2),
                set_pool(pointer(10), closed, 2), set_pool(pointer(20), both, 2)});
  Address address = 0;
  text += line("ipc", {FOUND(cuIpcOpenMemHandle)(&address, {}, 1),
                       FOUND(cuIpcOpenMemHandle_v2)(&address, {}, 1)});
  for (const std::uintptr_t number : {11, 20}) {
    status = FOUND(cuMemImportFromShareableHandle)(&address, pointer(number), 1);
    text += line("import", {static_cast<int>(number), status, static_cast<int>(address)});
  }
  for (const std::uintptr_t number : {11, 20}) {
    void* pool = nullptr;
    status = FOUND(cuMemPoolImportFromShareableHandle)(&pool, pointer(number), 1, 0);
    text += line("pool", {static_cast<int>(number), status, pool == pointer(number),
                          FOUND(cuMemPoolImportPointer)(&address, pointer(number), nullptr)});
  }
  text += line("held", {FOUND(double_held)()});
  text += line("copy", {FOUND(cuMemcpyPeer)(10, nullptr, 11, nullptr, 1)});
  for (const std::uintptr_t peer : {1, 2}) {
    status = FOUND(nvmlDeviceGetP2PStatus)(pointer(1), pointer(peer), 0, &value);
    text += line("nvml", {status, value});
  }
  return text;
}

}  // namespace

int main(int, char** arguments) {
  const std::string way = arguments[1];
  if (way == "reopened") open_and_close();
  if (arguments[2] != nullptr) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([&] { ask(way); });
    for (std::thread& each : threads) each.join();
    if (fork() == 0) {
      ask(way);
      _exit(0);
    }
    execl("/proc/self/exe", arguments[0], way.c_str(), nullptr);
    return 1;
  }
  std::fputs(ask(way).c_str(), stdout);
#ifdef LINKED
  std::fputs(line("depth", {double_depth()}).c_str(), stdout);
#endif
  // What is not there is not found, whatever stands before it.
  if (way == "handle") {
    void* const own = dlopen(nullptr, RTLD_NOW);
    const bool is_found = dlsym(own, "cuMemSetAccess") != nullptr;
    const bool is_wrong = dlsym(RTLD_DEFAULT, "cuMemAbsent") != nullptr || dlerror() == nullptr;
    std::fputs(line("by the program", {is_found, is_wrong}).c_str(), stdout);
  }
  return 0;
}
