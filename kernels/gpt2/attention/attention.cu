#include <cmath>
#include <limits>

#include "kernels/common/device_attribute.hpp"
#include "kernels/common/math.hpp"
#include "kernels/gpt2/attention/attention.hpp"
#include "kernels/gpt2/attention/launch.cuh"

namespace linkgain::kernels {
namespace {

/// The first devices with tensor cores for TF32 and bfloat16.
constexpr int kTensorCoreMajor = 8;

/// Returns whether all of `pointers` are there and begin at a multiple of kBytes.
template <std::uintptr_t kBytes, typename... Pointers>
bool are_there(const Pointers*... pointers) {
  return ((pointers != nullptr) && ...) && are_aligned<kBytes>(pointers...);
}

bool in_order(const AttentionShape& shape, const AttentionDropout& dropout,
              const std::uint32_t* dropout_bits) {
  if (shape.samples <= 0 || shape.length <= 0 || shape.heads <= 0) return false;
  if (!has_attention(shape.head_channels)) return false;
  if (dropout.enabled && (dropout.first_element < 0 || !are_there<4>(dropout_bits))) return false;
  return std::int64_t{shape.samples} * shape.heads <= std::numeric_limits<int>::max();
}

AttentionCall call_of(const AttentionShape& shape, const void* qkv,
                      const AttentionDropout& dropout) {
  AttentionCall call{};
  call.shape = shape;
  call.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.head_channels)));
  call.qkv = qkv;
  call.dropout = dropout;
  return call;
}

cudaError_t tensor_cores(bool* there) {
  int major = 0;
  const cudaError_t status = device_attribute(cudaDevAttrComputeCapabilityMajor, &major);
  *there = major >= kTensorCoreMajor;
  return status;
}

// Strict single precision, which every device has.

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

constexpr AttentionPasses kStrictAttention{forward_by<StrictKernels>, backward_by<StrictKernels>};

cudaError_t run(TrainingPrecision precision, AttentionPass AttentionPasses::*pass,
                const AttentionCall& call, cudaStream_t stream) {
  bool can = false;
  const cudaError_t status = tensor_cores(&can);
  if (status != cudaSuccess) return status;
  switch (precision) {
    case TrainingPrecision::fp32:
      return (kStrictAttention.*pass)(call, stream);
    case TrainingPrecision::tf32:
      return ((can ? kTf32Attention : kStrictAttention).*pass)(call, stream);
    case TrainingPrecision::bf16:
      return can ? (kBf16Attention.*pass)(call, stream) : cudaErrorNotSupported;
  }
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t attention_forward(TrainingPrecision precision, const AttentionShape& shape,
                              const void* qkv, const AttentionDropout& dropout, void* output,
                              float* lse, std::uint32_t* dropout_bits, cudaStream_t stream) {
  if (!in_order(shape, dropout, dropout_bits) || !are_there<16>(qkv, output) ||
      !are_there<4>(lse)) {
    return cudaErrorInvalidValue;
  }
  AttentionCall call = call_of(shape, qkv, dropout);
  call.output = output;
  call.lse = lse;
  call.dropout_bits = dropout_bits;
  return run(precision, &AttentionPasses::forward, call, stream);
}

cudaError_t attention_backward(TrainingPrecision precision, const AttentionShape& shape,
                               const void* qkv, const void* output, const void* output_gradient,
                               const float* lse, const std::uint32_t* dropout_bits,
                               const AttentionDropout& dropout, float* scratch, void* qkv_gradient,
                               const WaitBound& bound, cudaStream_t stream) {
  if (!in_order(shape, dropout, dropout_bits) ||
      !are_there<16>(qkv, output, output_gradient, qkv_gradient) || !are_there<4>(lse, scratch)) {
    return cudaErrorInvalidValue;
  }
  AttentionCall call = call_of(shape, qkv, dropout);
  call.forward_output = output;
  call.output_gradient = output_gradient;
  call.qkv_gradient = qkv_gradient;
  call.lse = const_cast<float*>(lse);
  call.dropout_bits = const_cast<std::uint32_t*>(dropout_bits);
  call.delta = scratch;
  call.bound = bound;
  return run(precision, &AttentionPasses::backward, call, stream);
}

}  // namespace linkgain::kernels
