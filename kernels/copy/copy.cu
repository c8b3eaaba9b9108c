#include <algorithm>

#include "kernels/common/device_attribute.hpp"
#include "kernels/common/math.hpp"
#include "kernels/common/pdl.cuh"
#include "kernels/common/vectors.cuh"
#include "kernels/copy/copy.hpp"

namespace linkgain::kernels {
namespace {

/// Starts while the launch before it in the stream ends, and reads once that has ended.
template <int kVectors>
__global__ void copy_vectors(uint4* to, const uint4* from, std::int64_t vectors) {
  pdl_trigger_then_wait();
  const std::int64_t chunk = static_cast<std::int64_t>(blockDim.x) * kVectors;
  const std::int64_t chunks = divide_up(vectors, chunk);
  for (std::int64_t i = blockIdx.x; i < chunks; i += gridDim.x) {
    copy_chunk<kVectors>(from, to, i, vectors);
  }
}

cudaError_t blocks_for(std::int64_t vectors, const CopyShape& shape, unsigned* blocks) {
  constexpr std::int64_t kMost = 0x7fffffff;
  const std::int64_t chunk = static_cast<std::int64_t>(shape.threads) * shape.vectors;
  std::int64_t wanted = std::min(kMost, divide_up(vectors, chunk));
  if (shape.blocks_per_multiprocessor > 0) {
    int count = 0;
    const cudaError_t status = device_attribute(cudaDevAttrMultiProcessorCount, &count);
    if (status != cudaSuccess) return status;
    wanted = std::min<std::int64_t>(wanted, std::int64_t{count} * shape.blocks_per_multiprocessor);
  }
  *blocks = static_cast<unsigned>(wanted);
  return cudaSuccess;
}

}  // namespace

cudaError_t copy(void* to, const void* from, std::int64_t bytes, const CopyShape& shape,
                 cudaStream_t stream) {
  if (bytes <= 0 || bytes % kCopyAlignment != 0 || !are_aligned<kCopyAlignment>(to, from)) {
    return cudaErrorInvalidValue;
  }
  const std::int64_t vectors = bytes / kCopyAlignment;
  unsigned blocks = 0;
  const cudaError_t status = blocks_for(vectors, shape, &blocks);
  if (status != cudaSuccess) return status;
  auto* target = static_cast<uint4*>(to);
  const auto* source = static_cast<const uint4*>(from);
  const auto threads = static_cast<unsigned>(shape.threads);
  switch (shape.vectors) {
    case 1:
      return launch_pdl(copy_vectors<1>, blocks, threads, stream, target, source, vectors);
    case 4:
      return launch_pdl(copy_vectors<4>, blocks, threads, stream, target, source, vectors);
    case 8:
      return launch_pdl(copy_vectors<8>, blocks, threads, stream, target, source, vectors);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace linkgain::kernels
