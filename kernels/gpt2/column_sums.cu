#include "kernels/gpt2/column_sums.cuh"

namespace linkgain::kernels {
namespace {

template <typename T>
struct ReadVector {
  static constexpr int kOperands = 1;
  static constexpr int kOldOperands = 0;
  const uint4* operands[kOperands];

  __device__ void finish(std::int64_t, const uint4 (&loaded)[kOperands],
                         float (&values)[kVectorElements<T>]) const {
    unpack(loaded[0], values);
  }
};

}  // namespace

std::int64_t column_sums_scratch(int columns) {
  return std::int64_t{kMostPartialRows} * columns * static_cast<std::int64_t>(sizeof(float));
}

cudaError_t column_sums(ElementType type, std::int64_t rows, int columns, const void* matrix,
                        float* sums, void* scratch, cudaStream_t stream) {
  if (rows < 0 || columns <= 0 || columns % 8 != 0 || !are_aligned(matrix, sums, scratch)) {
    return cudaErrorInvalidValue;
  }
  return with_activation(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return launch_on_tiles<T>(rows, columns, ReadVector<T>{{static_cast<const uint4*>(matrix)}},
                              sums, static_cast<float*>(scratch), stream);
  });
}

}  // namespace linkgain::kernels
