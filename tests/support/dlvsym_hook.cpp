#include <dlfcn.h>

/// Stands before the C library, as tracers do, and calls what stands there behind it.
/// it.
extern "C" void* dlvsym(void* handle, const char* name, const char* version) noexcept {
  static auto* const real = reinterpret_cast<decltype(&dlvsym)>(dlsym(RTLD_NEXT, "dlvsym"));
  return real(handle, name, version);
}

namespace {

[[maybe_unused]] void* const found = dlvsym(RTLD_DEFAULT, "getpid", "GLIBC_2.17");

}  // namespace
