#include "linkgain/gpu/buffer.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {
namespace {

constexpr std::int64_t kGranularity = std::int64_t{2} << 20;

using ReserveFunction = CUresult (*)(CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr,
                                     unsigned long long);
using FreeFunction = CUresult (*)(CUdeviceptr, std::size_t);
using RangeFunction = CUresult (*)(CUdeviceptr*, std::size_t*, CUdeviceptr);

}  // namespace

DeviceBuffer::DeviceBuffer(Bytes size) : size_(size) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, static_cast<std::size_t>(size.value)));
  memory_.reset(memory);
}

void DeviceBuffer::Free::operator()(void* memory) const noexcept { cudaFree(memory); }

PinnedBuffer::PinnedBuffer(Bytes size) : size_(size) {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, static_cast<std::size_t>(size.value), cudaHostAllocDefault));
  memory_.reset(memory);
}

void PinnedBuffer::Free::operator()(void* memory) const noexcept { cudaFreeHost(memory); }

void PinnedCopy::copy_to_device() {
  check(cudaMemcpyAsync(device_.data(), host_.data(), static_cast<std::size_t>(host_.size().value),
                        cudaMemcpyHostToDevice, stream_.get()));
}

void PinnedCopy::copy_from_device() {
  check(cudaMemcpyAsync(host_.data(), device_.data(), static_cast<std::size_t>(host_.size().value),
                        cudaMemcpyDeviceToHost, stream_.get()));
}

void enqueue_copy(void* to, const void* from, Bytes size, const Stream& stream) {
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(size.value), cudaMemcpyDefault,
                        stream.get()));
}

void enqueue_fill(void* memory, unsigned char byte, Bytes size, const Stream& stream) {
  check(cudaMemsetAsync(memory, byte, static_cast<std::size_t>(size.value), stream.get()));
}

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
