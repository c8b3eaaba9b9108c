#include "kernels/gpt2/attention/launch.cuh"

namespace linkgain::kernels {
namespace {

/// With 64 channels the first choice forward takes 96 KiB of shared memory, which sm_75 has not,
/// and all gradients at once 97, which sm_70 has not either. With 32 channels a tile of queries
/// would have too few gradients for a block's threads.
struct StrictKernels {
  using Number = float;

  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> forward(int bytes) {
    const auto wide = forward_kernel<StrictTiles<4, 8>, kChannels, kDrops, 64, 2>();
    if (wide.bytes <= bytes) return wide;
    return forward_kernel<StrictTiles<4, 4>, kChannels, kDrops, 64, 1>();
  }
  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> gradients(int bytes) {
    if constexpr (kChannels == 64) {
      const auto at_once = gradients_kernel<StrictTiles<4, 8>, kChannels, kDrops, 32, 2>();
      if (at_once.bytes <= bytes) return at_once;
    }
    return {};
  }
  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> query_gradient() {
    constexpr int kRows = kChannels == 64 ? 4 : 8;
    return query_gradient_kernel<StrictTiles<4, kRows>, kChannels, kDrops, 32, kRows / 4>();
  }
  template <int kChannels, bool kDrops>
  static AttentionKernel<Number> key_gradients() {
    constexpr int kRows = kChannels == 64 ? 4 : 8;
    return key_gradients_kernel<StrictTiles<4, kRows>, kChannels, kDrops, 32, kRows / 4>();
  }
};

}  // namespace

const AttentionPasses kStrictAttention{forward_by<StrictKernels>, backward_by<StrictKernels>};

}  // namespace linkgain::kernels
