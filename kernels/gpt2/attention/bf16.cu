#include "kernels/gpt2/attention/bf16.hpp"
#include "kernels/gpt2/attention/launch.cuh"

namespace linkgain::kernels {
namespace {

struct Bf16Kernels {
  using Number = Bf16Cores::Number;

  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> forward(int /*bytes*/) {
    return forward_kernel<TensorTiles<Bf16Cores, 4, 2>, kChannels, kDrops, 64, 2>();
  }
  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> gradients(int /*bytes*/) {
    return {};
  }
  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> query_gradient() {
    return query_gradient_kernel<TensorTiles<Bf16Cores, 4, 1>, kChannels, kDrops, 64, 3>();
  }
  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> key_gradients() {
    return key_gradients_kernel<TensorTiles<Bf16Cores, 4, 1>, kChannels, kDrops, 64, 3>();
  }
};

}  // namespace

cudaError_t attention_forward_bf16(const AttentionCall& call, cudaStream_t stream) {
  return forward_by<Bf16Kernels>(call, stream);
}

cudaError_t attention_backward_bf16(const AttentionCall& call, cudaStream_t stream) {
  return backward_by<Bf16Kernels>(call, stream);
}

}  // namespace linkgain::kernels
