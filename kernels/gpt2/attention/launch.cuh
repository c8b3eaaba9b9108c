#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>

#include "kernels/common/device_attribute.hpp"
#include "kernels/gpt2/attention/backward.cuh"
#include "kernels/gpt2/attention/forward.cuh"
#include "kernels/gpt2/attention/shape.hpp"

// What attention.hpp's functions hand on to those of a precision, once it is in order.

// From a call to launches. `Kernels` is what a precision chooses by head channels and dropout:
// forward(), gradients(), which may be none, for the shared memory there is, and query_gradient()
// and key_gradients() where those are not made at once.

namespace linkgain::kernels {

/// A call of either pass; what it does not have is null.
struct AttentionCall {
  AttentionShape shape;
  float scale;  ///< of scores
  const void* qkv;
  const void* forward_output;
  const void* output_gradient;
  AttentionDropout dropout;
  void* output;
  void* qkv_gradient;
  float* lse;                   ///< written by the forward pass, read by the backward pass
  std::uint32_t* dropout_bits;  ///< as lse; null but with dropout
  float* delta;                 ///< and behind them counters of additions
  WaitBound bound;              ///< of the backward pass
};

using AttentionPass = cudaError_t (*)(const AttentionCall&, cudaStream_t);

struct AttentionPasses {
  AttentionPass forward;
  AttentionPass backward;
};

// By TF32 and by bfloat16 tensor cores (tensor.cu); attention.cu has strict single precision's.
extern const AttentionPasses kTf32Attention;
extern const AttentionPasses kBf16Attention;

template <typename Number>
using KernelAddress = void (*)(AttentionArguments<Number>);

template <typename Number>
struct AttentionKernel {
  KernelAddress<Number> kernel;
  int threads;
  int block_rows;
  int bytes;  ///< of shared memory
};

template <typename Tiles, int kChannels, bool kDrops, int kColumns, int kBlocks>
AttentionKernel<typename Tiles::Number> forward_kernel() {
  return {attention_forward_tiles<Tiles, kChannels, kDrops, kColumns, kBlocks>, Tiles::kThreads,
          Tiles::kBlockRows, ForwardBlock<Tiles, kChannels, kDrops, kColumns>::kBytes};
}

template <typename Tiles, int kChannels, bool kDrops, int kColumns, int kBlocks>
AttentionKernel<typename Tiles::Number> query_gradient_kernel() {
  return {attention_query_gradient<Tiles, kChannels, kDrops, kColumns, kBlocks>, Tiles::kThreads,
          Tiles::kBlockRows, QueryGradientBlock<Tiles, kChannels, kDrops, kColumns>::kBytes};
}

template <typename Tiles, int kChannels, bool kDrops, int kColumns, int kBlocks>
AttentionKernel<typename Tiles::Number> gradients_kernel() {
  return {attention_gradients<Tiles, kChannels, kDrops, kColumns, kBlocks>, Tiles::kThreads,
          Tiles::kBlockRows, GradientsBlock<Tiles, kChannels, kDrops, kColumns>::kBytes};
}

template <typename Tiles, int kChannels, bool kDrops, int kColumns, int kBlocks>
AttentionKernel<typename Tiles::Number> key_gradients_kernel() {
  return {attention_key_gradients<Tiles, kChannels, kDrops, kColumns, kBlocks>, Tiles::kThreads,
          Tiles::kBlockRows, KeyGradientBlock<Tiles, kChannels, kDrops, kColumns>::kBytes};
}

inline cudaError_t shared_bytes_of_block(int* bytes) {
  return device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, bytes);
}

template <typename Number>
cudaError_t launch(KernelAddress<Number> kernel, std::int64_t blocks, int threads, int bytes,
                   const AttentionArguments<Number>& arguments, cudaStream_t stream) {
  if (blocks > std::numeric_limits<int>::max()) return cudaErrorInvalidValue;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(bytes);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments);
}

template <typename Number>
cudaError_t launch(const AttentionKernel<Number>& chosen,
                   const AttentionArguments<Number>& arguments, cudaStream_t stream) {
  constexpr int kWithoutAsking = 48 << 10;
  if (chosen.bytes > kWithoutAsking) {
    const cudaError_t status = cudaFuncSetAttribute(
        chosen.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, chosen.bytes);
    if (status != cudaSuccess) return status;
  }
  const std::int64_t tiles = divide_up(std::int64_t{arguments.length}, chosen.block_rows);
  return launch(chosen.kernel, tiles * arguments.sequences, chosen.threads, chosen.bytes, arguments,
                stream);
}

template <typename Number, int kChannels>
cudaError_t launch_delta(const AttentionArguments<Number>& arguments, cudaStream_t stream) {
  constexpr int kThreads = 256;
  constexpr int kRows = kThreads * kCopyChunk / (kChannels * static_cast<int>(sizeof(Number)));
  const std::int64_t rows = std::int64_t{arguments.sequences} * arguments.length;
  return launch(attention_delta<Number, kChannels>, divide_up(rows, kRows), kThreads, 0, arguments,
                stream);
}

template <typename Number>
AttentionArguments<Number> attention_arguments(const AttentionCall& call) {
  AttentionArguments<Number> arguments{};
  arguments.length = call.shape.length;
  arguments.heads = call.shape.heads;
  arguments.sequences = call.shape.samples * call.shape.heads;
  arguments.scale = call.scale;
  arguments.qkv = static_cast<const Number*>(call.qkv);
  arguments.forward_output = static_cast<const Number*>(call.forward_output);
  arguments.output_gradient = static_cast<const Number*>(call.output_gradient);
  arguments.output = static_cast<Number*>(call.output);
  arguments.qkv_gradient = static_cast<Number*>(call.qkv_gradient);
  arguments.lse = call.lse;
  arguments.delta = call.delta;
  if (call.delta != nullptr) {
    arguments.additions = reinterpret_cast<unsigned*>(
        call.delta + std::int64_t{arguments.sequences} * arguments.length);
  }
  arguments.dropout_bits = call.dropout_bits;
  arguments.dropout = call.dropout;
  arguments.bound = call.bound;
  arguments.by_fours = call.shape.length % 4 == 0 && call.dropout.first_element % 4 == 0;
  return arguments;
}

template <typename Kernels, int kChannels, bool kDrops>
cudaError_t forward_with(const AttentionCall& call, cudaStream_t stream) {
  int bytes = 0;
  const cudaError_t status = shared_bytes_of_block(&bytes);
  if (status != cudaSuccess) return status;
  return launch(Kernels::template forward<kChannels, kDrops>(bytes),
                attention_arguments<typename Kernels::Number>(call), stream);
}

template <typename Kernels, int kChannels, bool kDrops>
cudaError_t backward_with(const AttentionCall& call, cudaStream_t stream) {
  int bytes = 0;
  cudaError_t status = shared_bytes_of_block(&bytes);
  if (status != cudaSuccess) return status;
  const auto arguments = attention_arguments<typename Kernels::Number>(call);
  status = launch_delta<typename Kernels::Number, kChannels>(arguments, stream);
  if (status != cudaSuccess) return status;
  const auto at_once = Kernels::template gradients<kChannels, kDrops>(bytes);
  if (at_once.kernel != nullptr) return launch(at_once, arguments, stream);
  status = launch(Kernels::template key_gradients<kChannels, kDrops>(), arguments, stream);
  if (status != cudaSuccess) return status;
  return launch(Kernels::template query_gradient<kChannels, kDrops>(), arguments, stream);
}

/// Launches by every kernel that there is of a precision.
template <typename Kernels>
cudaError_t forward_by(const AttentionCall& call, cudaStream_t stream) {
  const bool drops = call.dropout.enabled;
  if (call.shape.head_channels == 32) {
    return drops ? forward_with<Kernels, 32, true>(call, stream)
                 : forward_with<Kernels, 32, false>(call, stream);
  }
  return drops ? forward_with<Kernels, 64, true>(call, stream)
               : forward_with<Kernels, 64, false>(call, stream);
}

template <typename Kernels>
cudaError_t backward_by(const AttentionCall& call, cudaStream_t stream) {
  const bool drops = call.dropout.enabled;
  if (call.shape.head_channels == 32) {
    return drops ? backward_with<Kernels, 32, true>(call, stream)
                 : backward_with<Kernels, 32, false>(call, stream);
  }
  return drops ? backward_with<Kernels, 64, true>(call, stream)
               : backward_with<Kernels, 64, false>(call, stream);
}

}  // namespace linkgain::kernels
