#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain::gpu {
namespace {

/// Large enough to outweigh a copy's start.
constexpr Bytes kSize{std::int64_t{64} << 20};
constexpr int kCopies = 8;

/// Returns the rate of copies in 1e9 B/s, out of one device's memory into that of another which it
/// reaches. Throws CudaError.
double copy_rate(int from, int to) {
  check(cudaSetDevice(to));
  const DeviceBuffer target(kSize);
  check(cudaSetDevice(from));
  const cudaError_t enabled = cudaDeviceEnablePeerAccess(to, 0);
  if (enabled != cudaErrorPeerAccessAlreadyEnabled) check(enabled);
  cudaGetLastError();
  const DeviceBuffer source(kSize);
  const Stream stream;
  Event start;
  Event stop;
  enqueue_copy(target.data(), source.data(), kSize, stream);
  start.record(stream);
  for (int i = 0; i < kCopies; ++i) enqueue_copy(target.data(), source.data(), kSize, stream);
  stop.record(stream);
  stop.synchronize();
  return static_cast<double>(kSize.value) * kCopies / elapsed(start, stop).value / 1e9;
}

}  // namespace

std::vector<PeerCopy> measure_peer_copies() {
  std::vector<PeerCopy> copies;
  const int count = device_count();
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      int reaches = 0;
      if (from == to) continue;
      check(cudaDeviceCanAccessPeer(&reaches, from, to));
      if (reaches == 0) continue;
      PeerCopy& copy = copies.emplace_back(
          PeerCopy{device_info(from).pci_bus_id, device_info(to).pci_bus_id, {}});
      try {
        copy.gb_per_s = copy_rate(from, to);
      } catch (const CudaError& error) {
        copy.gb_per_s = Missing{error.what()};
      }
    }
  }
  return copies;
}

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
