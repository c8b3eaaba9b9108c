#include "kernels/gpt2/column_sums.cuh"
#include "kernels/gpt2/gelu.hpp"

namespace linkgain::kernels {
namespace {

constexpr float kGeluFactor = 0.797884560802865356F;  // sqrt(2 / pi)
constexpr float kGeluCubic = 0.044715F;
constexpr float kLog2E = 1.442695040888963407F;

/// With u = factor * (x + cubic x³): (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)), and what that lacks
/// of 1, both without cancellation.
struct GeluGate {
  float open;
  float closed;
};

__device__ GeluGate gelu_gate(float x) {
  constexpr float kLinear = -2.0F * kLog2E * kGeluFactor;
  constexpr float kMostExponent = 120.0F;  // so that nothing overflows
  const float exponent = x * fmaf(x * x, kLinear * kGeluCubic, kLinear);
  const float power = fast_exp2(fminf(exponent, kMostExponent));
  const float open = __fdividef(1.0F, 1.0F + power);
  return {open, power * open};
}

__device__ float gelu_slope(float x) {
  const GeluGate gate = gelu_gate(x);
  const float inner = fmaf(x * x, 6.0F * kGeluFactor * kGeluCubic, 2.0F * kGeluFactor);
  return fmaf(x * inner, gate.open * gate.closed, gate.open);
}

constexpr int kForwardThreads = 256;
constexpr int kForwardVectors = 2;

template <typename T>
__global__ void __launch_bounds__(kForwardThreads)
    apply_gelu(const uint4* input, uint4* output, std::int64_t vectors) {
  const std::int64_t start =
      static_cast<std::int64_t>(blockIdx.x) * kForwardThreads * kForwardVectors + threadIdx.x;
  pdl_wait_then_trigger();
  uint4 data[kForwardVectors];
#pragma unroll
  for (int v = 0; v < kForwardVectors; ++v) {
    const std::int64_t i = start + v * kForwardThreads;
    if (i < vectors) data[v] = input[i];
  }
#pragma unroll
  for (int v = 0; v < kForwardVectors; ++v) {
    const std::int64_t i = start + v * kForwardThreads;
    float values[kVectorElements<T>];
    if (i < vectors) {
      unpack(data[v], values);
#pragma unroll
      for (float& value : values) value *= gelu_gate(value).open;
      output[i] = packed(values);
    }
  }
}

/// A gradient with its input.
template <typename T>
struct GeluGradient {
  static constexpr int kOperands = 2;
  static constexpr int kOldOperands = 1;
  const uint4* operands[kOperands];
  uint4* gradient;

  __device__ void finish(std::int64_t i, const uint4 (&loaded)[kOperands],
                         float (&values)[kVectorElements<T>]) const {
    float inputs[kVectorElements<T>];
    unpack(loaded[0], inputs);
    unpack(loaded[1], values);
#pragma unroll
    for (int e = 0; e < kVectorElements<T>; ++e) values[e] *= gelu_slope(inputs[e]);
    gradient[i] = packed(values);
  }
};

}  // namespace

cudaError_t gelu_forward(ElementType activations, const void* input, void* output,
                         std::int64_t count, cudaStream_t stream) {
  if (count < 0 || count % 8 != 0 || !are_aligned(input, output)) return cudaErrorInvalidValue;
  return with_activation(activations, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::int64_t vectors = count / kVectorElements<T>;
    if (vectors == 0) return cudaSuccess;
    constexpr std::int64_t kOfBlock = kForwardThreads * kForwardVectors;
    const auto blocks = static_cast<unsigned>(divide_up(vectors, kOfBlock));
    return launch_pdl(apply_gelu<T>, blocks, kForwardThreads, stream,
                      static_cast<const uint4*>(input), static_cast<uint4*>(output), vectors);
  });
}

cudaError_t gelu_backward(ElementType activations, std::int64_t rows, int columns,
                          const void* input, void* gradient, float* bias_gradient, void* scratch,
                          cudaStream_t stream) {
  if (rows < 0 || columns <= 0 || columns % 8 != 0 ||
      !are_aligned(input, gradient, bias_gradient, scratch)) {
    return cudaErrorInvalidValue;
  }
  return with_activation(activations, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* vectors = static_cast<uint4*>(gradient);
    const GeluGradient<T> work{{static_cast<const uint4*>(input), vectors}, vectors};
    return launch_on_tiles<T>(rows, columns, work, bias_gradient, static_cast<float*>(scratch),
                              stream);
  });
}

}  // namespace linkgain::kernels
