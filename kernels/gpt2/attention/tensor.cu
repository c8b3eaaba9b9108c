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

using Tf32Kernels = TensorKernels<Tf32Cores, 2>;
using Bf16Kernels = TensorKernels<Bf16Cores, 3>;

}  // namespace

cudaError_t attention_forward_tf32(const AttentionCall& call, cudaStream_t stream) {
  return forward_by<Tf32Kernels>(call, stream);
}

cudaError_t attention_backward_tf32(const AttentionCall& call, cudaStream_t stream) {
  return backward_by<Tf32Kernels>(call, stream);
}

cudaError_t attention_forward_bf16(const AttentionCall& call, cudaStream_t stream) {
  return forward_by<Bf16Kernels>(call, stream);
}

cudaError_t attention_backward_bf16(const AttentionCall& call, cudaStream_t stream) {
  return backward_by<Bf16Kernels>(call, stream);
}

}  // namespace linkgain::kernels
