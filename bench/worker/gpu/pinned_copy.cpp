#include "linkgain/gpu/pinned_copy.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {

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

}  // namespace linkgain::gpu
