#include "linkgain/gpu/address_range.hpp"

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "driver_function.hpp"

namespace linkgain::gpu {
namespace {

constexpr std::int64_t kGranularity = std::int64_t{2} << 20;

using ReserveFunction = CUresult (*)(CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr,
                                     unsigned long long);
using FreeFunction = CUresult (*)(CUdeviceptr, std::size_t);
using RangeFunction = CUresult (*)(CUdeviceptr*, std::size_t*, CUdeviceptr);

}  // namespace

AddressRange range_of(void* memory, Bytes size) noexcept {
  static const auto ask = reinterpret_cast<RangeFunction>(driver_function("cuMemGetAddressRange"));
  CUdeviceptr first = 0;
  std::size_t bytes = 0;
  if (ask == nullptr ||
      ask(&first, &bytes, reinterpret_cast<CUdeviceptr>(memory)) != CUDA_SUCCESS) {
    return {memory, size};
  }
  return {reinterpret_cast<void*>(first), Bytes{static_cast<std::int64_t>(bytes)}};
}

bool retire(const AddressRange& range) noexcept {
  static const auto reserve =
      reinterpret_cast<ReserveFunction>(driver_function("cuMemAddressReserve"));
  static const auto release = reinterpret_cast<FreeFunction>(driver_function("cuMemAddressFree"));
  if (reserve == nullptr || release == nullptr) return false;
  const auto wanted = reinterpret_cast<CUdeviceptr>(range.first);
  const auto bytes = static_cast<std::size_t>(round_up(range.size.value, kGranularity));
  CUdeviceptr found = 0;
  if (bytes == 0 || reserve(&found, bytes, 0, wanted, 0) != CUDA_SUCCESS) return false;
  if (found == wanted) return true;
  release(found, bytes);
  return false;
}

}  // namespace linkgain::gpu
