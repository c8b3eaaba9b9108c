#include "kernels/gpt2/attention/launch.cuh"

namespace linkgain::kernels {
namespace {

/// TF32 leaves registers for one block of the keys' gradients less.
template <typename Cores, int kKeyBlocks>
struct TensorKernels {
  using Number = typename Cores::Number;

  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> forward(int /*bytes*/) {
    return forward_kernel<TensorTiles<Cores, 4, 2>, kChannels, kDrops, 64, 2>();
  }
  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> gradients(int /*bytes*/) {
    return {};
  }
  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> query_gradient() {
    return query_gradient_kernel<TensorTiles<Cores, 4, 1>, kChannels, kDrops, 64, 3>();
  }
  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> key_gradients() {
    return key_gradients_kernel<TensorTiles<Cores, 4, 1>, kChannels, kDrops, 64, kKeyBlocks>();
  }
};

}  // namespace

const AttentionPasses kTf32Attention{forward_by<TensorKernels<Tf32Cores, 2>>,
                                     backward_by<TensorKernels<Tf32Cores, 2>>};
const AttentionPasses kBf16Attention{forward_by<TensorKernels<Bf16Cores, 3>>,
                                     backward_by<TensorKernels<Bf16Cores, 3>>};

}  // namespace linkgain::kernels
