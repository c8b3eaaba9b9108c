#include "linkgain/gpu/peer_copies.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

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
        copy.gb_per_s = Reading<double>::missing(error.what());
      }
    }
  }
  return copies;
}

}  // namespace linkgain::gpu
