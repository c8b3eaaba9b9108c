#include "linkgain/gpu/buffer.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {

DeviceBuffer::DeviceBuffer(Bytes size) : size_(size) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, static_cast<std::size_t>(size.value)));
  memory_.reset(memory);
}

void DeviceBuffer::Free::operator()(void* memory) const noexcept { cudaFree(memory); }

}  // namespace linkgain::gpu
