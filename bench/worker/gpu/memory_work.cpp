#include "linkgain/gpu/memory_work.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {

void enqueue_copy(void* to, const void* from, Bytes size, const Stream& stream) {
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(size.value), cudaMemcpyDefault,
                        stream.get()));
}

void enqueue_fill(void* memory, unsigned char byte, Bytes size, const Stream& stream) {
  check(cudaMemsetAsync(memory, byte, static_cast<std::size_t>(size.value), stream.get()));
}

Bytes memory_in_use() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  return {static_cast<std::int64_t>(total - free)};
}

}  // namespace linkgain::gpu
