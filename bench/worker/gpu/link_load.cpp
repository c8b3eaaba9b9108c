#include "linkgain/gpu/link_load.hpp"

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {

int load_links(Seconds time) {
  constexpr Bytes kCopied{std::int64_t{64} << 20};
  std::vector<PinnedCopy> to_device;
  std::vector<PinnedCopy> from_device;
  const int count = device_count();
  for (int device = 0; device < count; ++device) {
    check(cudaSetDevice(device));
    to_device.emplace_back(kCopied);
    from_device.emplace_back(kCopied);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(time.value);
  while (count > 0 && std::chrono::steady_clock::now() < end) {
    constexpr int kBetweenLooksAtTheClock = 4;
    for (int i = 0; i < kBetweenLooksAtTheClock; ++i) {
      for (PinnedCopy& copy : to_device) copy.copy_to_device();
      for (PinnedCopy& copy : from_device) copy.copy_from_device();
    }
    for (const PinnedCopy& copy : to_device) copy.stream().synchronize();
    for (const PinnedCopy& copy : from_device) copy.stream().synchronize();
  }
  return count;
}

}  // namespace linkgain::gpu
