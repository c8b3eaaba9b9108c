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

}  // namespace

bool retire_addresses(void* first, Bytes size) noexcept {
  static const auto reserve =
      reinterpret_cast<ReserveFunction>(driver_function("cuMemAddressReserve"));
  static const auto release = reinterpret_cast<FreeFunction>(driver_function("cuMemAddressFree"));
  if (reserve == nullptr || release == nullptr) return false;
  const auto wanted = reinterpret_cast<CUdeviceptr>(first);
  const auto bytes = static_cast<std::size_t>(round_up(size.value, kGranularity));
  CUdeviceptr found = 0;
  if (bytes == 0 || reserve(&found, bytes, 0, wanted, 0) != CUDA_SUCCESS) return false;
  if (found == wanted) return true;
  release(found, bytes);
  return false;
}

}  // namespace linkgain::gpu
