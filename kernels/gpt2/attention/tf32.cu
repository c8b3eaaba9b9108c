#include "kernels/gpt2/attention/launch.cuh"
#include "kernels/gpt2/attention/tf32.hpp"

namespace linkgain::kernels {
namespace {

struct Tf32Kernels {
  using Number = Tf32Cores::Number;

  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> forward(int /*bytes*/) {
    return forward_kernel<TensorTiles<Tf32Cores, 4, 2>, kChannels, kDrops, 64, 2>();
  }
  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> gradients(int /*bytes*/) {
    return {};
  }
  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> query_gradient() {
    return query_gradient_kernel<TensorTiles<Tf32Cores, 4, 1>, kChannels, kDrops, 64, 3>();
  }
  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> key_gradients() {
    return key_gradients_kernel<TensorTiles<Tf32Cores, 4, 1>, kChannels, kDrops, 64, 2>();
  }
};

}  // namespace

cudaError_t attention_forward_tf32(const AttentionCall& call, cudaStream_t stream) {
  return forward_by<Tf32Kernels>(call, stream);
}

cudaError_t attention_backward_tf32(const AttentionCall& call, cudaStream_t stream) {
  return backward_by<Tf32Kernels>(call, stream);
}

}  // namespace linkgain::kernels
