#include "linkgain/gpu/device.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "kernels/common/device_attribute.hpp"
#include "linkgain/gpt2/training_parameters.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {
namespace {

/// Returns whether the device with that PCI id is the current one, or is_so(own, other) of their
/// numbers.
template <typename Predicate>
bool is_itself_or(const std::string& pci_bus_id, Predicate is_so) {
  int own = 0;
  check(cudaGetDevice(&own));
  for (int other = 0; other < device_count(); ++other) {
    if (device_info(other).pci_bus_id != pci_bus_id) continue;
    return other == own || is_so(own, other);
  }
  return false;
}

}  // namespace

int device_count(std::string* reason) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return count;
  // Otherwise the next check of a launch would report it.
  cudaGetLastError();
  if (reason != nullptr) {
    *reason = cudaGetErrorString(status == cudaSuccess ? cudaErrorNoDevice : status);
  }
  return 0;
}

GpuInfo device_info(int cuda_index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, cuda_index));
  GpuInfo info;
  info.cuda_index = cuda_index;
  info.name = properties.name;
  info.uuid = uuid_text(properties.uuid);
  info.pci_bus_id =
      pci_bus_id_text(properties.pciDomainID, properties.pciBusID, properties.pciDeviceID);
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  info.l2_bytes = properties.l2CacheSize;
  info.multiprocessors = properties.multiProcessorCount;
  info.compute_capability = fmt::format("{}.{}", properties.major, properties.minor);
  return info;
}

std::vector<GpuInfo> visible_gpus() {
  std::vector<GpuInfo> gpus;
  for (int i = 0; i < device_count(); ++i) gpus.push_back(device_info(i));
  return gpus;
}

bool has_bfloat16() {
  int major = 0;
  check(kernels::device_attribute(cudaDevAttrComputeCapabilityMajor, &major));
  return 10 * major >= kFirstWithBfloat16;
}

bool can_reach(const std::string& pci_bus_id) {
  return is_itself_or(pci_bus_id, [](int own, int other) {
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, own, other));
    return can != 0;
  });
}

bool has_native_atomics(const std::string& pci_bus_id) {
  return is_itself_or(pci_bus_id, [](int own, int other) {
    int has = 0;
    check(cudaDeviceGetP2PAttribute(&has, cudaDevP2PAttrNativeAtomicSupported, own, other));
    return has != 0;
  });
}

std::string runtime_version() {
  int version = 0;
  check(cudaRuntimeGetVersion(&version));
  return cuda_version_text(version);
}

std::optional<std::string> driver_version() {
  int version = 0;
  check(cudaDriverGetVersion(&version));
  if (version == 0) return std::nullopt;
  return cuda_version_text(version);
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int byte = 0; byte < 16; ++byte) {
    if (byte == 4 || byte == 6 || byte == 8 || byte == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[byte]));
  }
  return text;
}

std::string pci_bus_id_text(int domain, int bus, int device) {
  return fmt::format("{:08x}:{:02x}:{:02x}.0", domain, bus, device);
}

void* driver_function(const char* name) noexcept {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  constexpr unsigned kVersion = 12000;
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &function, kVersion, cudaEnableDefault, &found);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (status == cudaSuccess && found == cudaDriverEntryPointSuccess) return function;
  cudaGetLastError();
  return nullptr;
}

}  // namespace linkgain::gpu
