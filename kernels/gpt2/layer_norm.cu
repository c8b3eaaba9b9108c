#include "kernels/common/pdl.cuh"
#include "kernels/gpt2/layer_norm.hpp"
#include "kernels/gpt2/layer_norm_checks.cuh"
#include "kernels/gpt2/row_of_warp.cuh"

namespace linkgain::kernels {
namespace {

template <typename T, int kSteps>
__device__ void add_branch(const Branch& branch, std::int64_t first, int channels,
                           std::uint32_t kept, RowOfWarp<kSteps>& row) {
  const T* values = static_cast<const T*>(branch.values) + first;
  typename RawFour<T>::type raw[kSteps];
  for_columns<kSteps>(channels,
                      [&](int step, int column) { raw[step] = load_raw_four(values + column); });
  for_columns<kSteps>(channels, [&](int step, int) {
    const float4 added = dropped(four_of(raw[step]), branch.dropout.mask.scale, kept >> (4 * step));
    row.fours[step] = add(row.fours[step], added);
  });
}

/// Mean and inverse deviation of a row, in every thread; in two passes, as the row is in registers.
template <int kSteps>
__device__ float2 moments(const RowOfWarp<kSteps>& row, const NormShape& shape) {
  const float channels = static_cast<float>(shape.channels);
  float sum = 0.0F;
  for_columns<kSteps>(shape.channels, [&](int step, int) { sum += sum_of(row.fours[step]); });
  const float mean = warp_sum(sum) / channels;
  float squares = 0.0F;
  for_columns<kSteps>(shape.channels, [&](int step, int) {
    const float4& four = row.fours[step];
    const float4 off = make_float4(four.x - mean, four.y - mean, four.z - mean, four.w - mean);
    squares += sum_of(make_float4(off.x * off.x, off.y * off.y, off.z * off.z, off.w * off.w));
  });
  const float variance = warp_sum(squares) / channels;
  return make_float2(mean, 1.0F / sqrtf(variance + shape.epsilon));
}

/// For a warp's first thread, before the launch before is done: what that did not write. Where
/// there is no branch it has made the input.
template <bool kAdds>
__device__ void ask_for_row(const NormShape& shape, const float* residual, const NormForward& norm,
                            std::int64_t index, int warp) {
  const int bytes = shape.channels * static_cast<int>(sizeof(float));
  if (kAdds && index < shape.rows) prefetch(residual + index * shape.channels, bytes);
  if (warp == 0) prefetch(norm.weight, bytes);
  if (warp == 1) prefetch(norm.bias, bytes);
}

template <typename T, int kSteps>
__device__ void write_output(const NormForward& norm, const float2& moment, std::int64_t first,
                             int channels, const RowOfWarp<kSteps>& row) {
  T* output = static_cast<T*>(norm.output) + first;
  for_columns<kSteps>(channels, [&](int step, int column) {
    const float4& x = row.fours[step];
    const float4 w = load_four(norm.weight + column);
    const float4 b = load_four(norm.bias + column);
    store_four(output + column, make_float4(fmaf((x.x - moment.x) * moment.y, w.x, b.x),
                                            fmaf((x.y - moment.x) * moment.y, w.y, b.y),
                                            fmaf((x.z - moment.x) * moment.y, w.z, b.z),
                                            fmaf((x.w - moment.x) * moment.y, w.w, b.w)));
  });
}

/// Of a block: with 128 a launch takes 3 us longer.
constexpr int kForwardThreads = 512;
constexpr int kRowsPerBlock = kForwardThreads / kWarpThreads;

/// A warp for each row, which elements are kept drawn before it is there. `sum` may be `residual`:
/// a thread reads its columns before it writes them.
template <typename T, int kSteps, bool kAdds>
__global__ void __launch_bounds__(kForwardThreads, 2)
    norm_rows(NormShape shape, const float* residual, Branch branch, float* sum, NormForward norm) {
  const int warp = static_cast<int>(threadIdx.x) / kWarpThreads;
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kRowsPerBlock + warp;
  const std::int64_t first = index * shape.channels;
  const bool is_first = threadIdx.x % kWarpThreads == 0;
  if (is_first) ask_for_row<kAdds>(shape, residual, norm, index, warp);
  std::uint32_t kept = 0;
  if constexpr (kAdds) kept = kept_of_row<kSteps>(branch.dropout, first, shape.channels);
  pdl_wait_then_trigger();
  if (index >= shape.rows) return;
  RowOfWarp<kSteps> row;
  for_columns<kSteps>(shape.channels, [&](int step, int column) {
    row.fours[step] = load_four(residual + first + column);
  });
  if constexpr (kAdds) {
    add_branch<T>(branch, first, shape.channels, kept, row);
    for_columns<kSteps>(shape.channels, [&](int step, int column) {
      store_four(sum + first + column, row.fours[step]);
    });
  }
  const float2 moment = moments(row, shape);
  write_output<T>(norm, moment, first, shape.channels, row);
  if (is_first) {
    norm.mean[index] = moment.x;
    norm.inverse_deviation[index] = moment.y;
  }
}

template <bool kAdds>
cudaError_t launch_norm(ElementType activations, const NormShape& shape, const float* residual,
                        const Branch& branch, float* sum, const NormForward& norm,
                        cudaStream_t stream) {
  if (!fits(shape) || !are_aligned(residual, branch.values, sum, norm.weight, norm.bias) ||
      !are_aligned(norm.output) || !fits(branch.dropout)) {
    return cudaErrorInvalidValue;
  }
  return with_activation(activations, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (shape.rows == 0) return cudaSuccess;
    const auto blocks = static_cast<unsigned>(divide_up(shape.rows, kRowsPerBlock));
    return with_steps(shape.channels, [&](auto steps) {
      return launch_pdl(norm_rows<T, decltype(steps)::value, kAdds>, blocks, kForwardThreads,
                        stream, shape, residual, branch, sum, norm);
    });
  });
}

}  // namespace

cudaError_t norm_forward(ElementType activations, const NormShape& shape, const float* input,
                         const NormForward& norm, cudaStream_t stream) {
  return launch_norm<false>(activations, shape, input, {nullptr, no_dropout()}, nullptr, norm,
                            stream);
}

cudaError_t add_norm_forward(ElementType activations, const NormShape& shape, const float* residual,
                             const Branch& branch, float* sum, const NormForward& norm,
                             cudaStream_t stream) {
  return launch_norm<true>(activations, shape, residual, branch, sum, norm, stream);
}

}  // namespace linkgain::kernels
