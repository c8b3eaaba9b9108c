#pragma once

#include <cstdint>

#include "kernels/common/async_copy.cuh"
#include "kernels/gpt2/layer_norm.hpp"
#include "kernels/gpt2/row_of_warp.cuh"

// One row of LayerNorm's backward pass, which a warp has in shared memory, and a block's sums over
// its rows.

namespace linkgain::kernels {

// What is summed over rows, in the order in which it stands in shared memory and scratch.
inline constexpr int kWeightSum = 0;
inline constexpr int kBiasSum = 1;
inline constexpr int kBranchSum = 2;
inline constexpr int kColumnSums = 3;

__device__ inline float4 times(const float4& a, const float4& b) {
  return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}

/// Where a row that is on its way lies in shared memory.
template <typename T>
struct RowPlace {
  char* memory;
  int channels;

  __device__ float* input() const { return reinterpret_cast<float*>(memory); }
  __device__ T* gradient() const { return reinterpret_cast<T*>(input() + channels); }
  __device__ float* stream() const { return reinterpret_cast<float*>(gradient() + channels); }
};

/// Begins to copy the warp's part of a row, 16 bytes a thread at a time.
template <int kSteps, typename T>
__device__ void begin_row(T* to, const T* from, int channels) {
  constexpr int kElements = kVectorElements<T>;
  constexpr int kCopies = divide_up(4 * kSteps, kElements);
  const int lane = static_cast<int>(threadIdx.x) % kWarpThreads;
#pragma unroll
  for (int k = 0; k < kCopies; ++k) {
    const int column = (k * kWarpThreads + lane) * kElements;
    if (column < channels) {
      begin_copy(static_cast<void*>(to + column), static_cast<const void*>(from + column), true);
    }
  }
}

template <int kSteps, typename T>
__device__ void begin_row(const NormBackward& norm, std::int64_t index, const RowPlace<T>& place) {
  const int channels = place.channels;
  const std::int64_t first = index * channels;
  begin_row<kSteps>(place.input(), norm.input + first, channels);
  begin_row<kSteps>(place.gradient(), static_cast<const T*>(norm.output_gradient) + first,
                    channels);
  if (!norm.overwrites_stream) {
    begin_row<kSteps>(place.stream(), norm.stream_gradient + first, channels);
  }
}

/// A thread's sums over rows of its columns.
template <int kSteps>
struct ThreadSums {
  RowOfWarp<kSteps> rows[kColumnSums];
};

/// h and g of four columns: what is normalised, and the gradient of that.
struct FourGradients {
  float4 h;
  float4 g;
};

__device__ inline float4 normalised(const float4& x, const float2& moment) {
  return make_float4((x.x - moment.x) * moment.y, (x.y - moment.x) * moment.y,
                     (x.z - moment.x) * moment.y, (x.w - moment.x) * moment.y);
}

template <typename T>
__device__ float4 gradient_at(const RowPlace<T>& place, int column) {
  return four_of(load_raw_four(place.gradient() + column));
}

/// What a row has in common: of g, and of g times h.
struct RowMeans {
  float gradient;
  float correlation;
};

/// The row's h and g; adds to the sums of the norm's parameters.
template <int kSteps, typename T>
__device__ RowMeans differentiate(const RowPlace<T>& place, const float* weight,
                                  const float2& moment, FourGradients (&fours)[kSteps],
                                  ThreadSums<kSteps>& sums) {
  const int channels = place.channels;
  float mean = 0.0F;
  float correlation = 0.0F;
  for_columns<kSteps>(channels, [&](int step, int column) {
    const float4 h = normalised(load_four(place.input() + column), moment);
    const float4 given = gradient_at(place, column);
    float4& of_weight = sums.rows[kWeightSum].fours[step];
    float4& of_bias = sums.rows[kBiasSum].fours[step];
    of_weight = add(of_weight, times(given, h));
    of_bias = add(of_bias, given);
    const float4 g = times(given, load_four(weight + column));
    mean += sum_of(g);
    correlation += sum_of(times(g, h));
    fours[step] = {h, g};
  });
  return {warp_sum(mean) / static_cast<float>(channels),
          warp_sum(correlation) / static_cast<float>(channels)};
}

/// Writes what the gradient of the row's input adds to the stream, and the branch's part of it.
template <int kSteps, typename T>
__device__ void write_row(const NormBackward& norm, const BranchGradient& branch,
                          const RowPlace<T>& place, std::int64_t first, const float2& moment,
                          const RowMeans& means, std::uint32_t kept,
                          const FourGradients (&fours)[kSteps], ThreadSums<kSteps>& sums) {
  for_columns<kSteps>(place.channels, [&](int step, int column) {
    const auto& [h, g] = fours[step];
    float4 s = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
    if (!norm.overwrites_stream) s = load_four(place.stream() + column);
    s.x = fmaf(moment.y, g.x - means.gradient - h.x * means.correlation, s.x);
    s.y = fmaf(moment.y, g.y - means.gradient - h.y * means.correlation, s.y);
    s.z = fmaf(moment.y, g.z - means.gradient - h.z * means.correlation, s.z);
    s.w = fmaf(moment.y, g.w - means.gradient - h.w * means.correlation, s.w);
    store_four(norm.stream_gradient + first + column, s);
    if (branch.values != nullptr) {
      const float4 masked = dropped(s, branch.dropout.mask.scale, kept >> (4 * step));
      store_four(static_cast<T*>(branch.values) + first + column, masked);
      float4& of_branch = sums.rows[kBranchSum].fours[step];
      of_branch = add(of_branch, masked);
    }
  });
}

/// Writes the sum over the block's warps to its row of `partials`.
template <int kSteps>
__device__ void write_block_sums(const ThreadSums<kSteps>& sums, int channels, float* shared,
                                 float* partials) {
  const int warp = static_cast<int>(threadIdx.x) / kWarpThreads;
  const int warps = static_cast<int>(blockDim.x) / kWarpThreads;
  const int columns = kColumnSums * channels;
  __syncthreads();
#pragma unroll
  for (int sum = 0; sum < kColumnSums; ++sum) {
    for_columns<kSteps>(channels, [&](int step, int column) {
      store_four(shared + warp * columns + sum * channels + column, sums.rows[sum].fours[step]);
    });
  }
  __syncthreads();
  for (int column = 4 * static_cast<int>(threadIdx.x); column < columns;
       column += 4 * static_cast<int>(blockDim.x)) {
    float4 total = load_four(shared + column);
    for (int other = 1; other < warps; ++other) {
      total = add(total, load_four(shared + other * columns + column));
    }
    store_four(partials + static_cast<std::int64_t>(blockIdx.x) * columns + column, total);
  }
}

}  // namespace linkgain::kernels
