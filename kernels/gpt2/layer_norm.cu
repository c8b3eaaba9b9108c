#include <algorithm>
#include <type_traits>

#include "kernels/common/async_copy.cuh"
#include "kernels/common/device_attribute.hpp"
#include "kernels/common/math.hpp"
#include "kernels/common/pdl.cuh"
#include "kernels/gpt2/activation_vectors.cuh"
#include "kernels/gpt2/column_sums.cuh"
#include "kernels/gpt2/layer_norm.hpp"

namespace linkgain::kernels {
namespace {

/// Returns whether LayerNorm's kernels can do it.
bool fits(const NormShape& shape) {
  return shape.rows >= 0 && shape.channels > 0 && shape.channels % kNormChannelStep == 0 &&
         shape.channels <= kMostNormChannels;
}

// A row of a matrix in the registers of one warp: each thread has four neighbouring columns of
// every 128, so that float32 and bfloat16 rows are held alike.

constexpr int kStepColumns = 4 * kWarpThreads;

/// Calls work(step, column) for this thread's columns.
template <int kSteps, typename Work>
__device__ void for_columns(int channels, Work work) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpThreads;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int column = step * kStepColumns + 4 * lane;
    if (column < channels) work(step, column);
  }
}

template <int kSteps>
struct RowOfWarp {
  float4 fours[kSteps];
};

/// Returns which of this thread's elements of the row that begins at element `first` are kept: bit
/// 4 step + e.
template <int kSteps>
__device__ std::uint32_t kept_of_row(const MatrixDropout& dropout, std::int64_t first,
                                     int channels) {
  static_assert(4 * kSteps <= 32);
  if (dropout.mask.threshold == 0) return 0xffffffffU;
  std::uint32_t bits = 0;
  for_columns<kSteps>(channels, [&](int step, int column) {
    bits |= kept_bits(dropout, first + column) << (4 * step);
  });
  return bits;
}

/// Returns work(std::integral_constant<int, steps>) with enough steps for the channels, of which
/// there are 1024 at most.
template <typename Work>
cudaError_t with_steps(int channels, Work work) {
  if (channels <= 1 * kStepColumns) return work(std::integral_constant<int, 1>{});
  if (channels <= 2 * kStepColumns) return work(std::integral_constant<int, 2>{});
  if (channels <= 4 * kStepColumns) return work(std::integral_constant<int, 4>{});
  if (channels <= 6 * kStepColumns) return work(std::integral_constant<int, 6>{});
  return work(std::integral_constant<int, 8>{});
}

__device__ float sum_of(const float4& four) { return (four.x + four.y) + (four.z + four.w); }

// The forward pass.

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

/// Returns mean and inverse deviation of a row, in every thread; in two passes, as the row is in
/// registers.
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

/// Asks, in a warp's first thread and before the launch before is done, for what that did not
/// write. Without a branch it has made the input.
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

/// Threads of a block: with 128 a launch takes 3 us longer.
constexpr int kForwardThreads = 512;
constexpr int kRowsPerBlock = kForwardThreads / kWarpThreads;

/// Normalises a row by each warp, which elements are kept drawn before it is there. `sum` may be
/// `residual`: a thread reads its columns before it writes them.
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

// The backward pass: one row of it, which a warp has in shared memory, and a block's sums over
// its rows.

// What is summed over rows, in the order in which it stands in shared memory and scratch.
constexpr int kWeightSum = 0;
constexpr int kBiasSum = 1;
constexpr int kBranchSum = 2;
constexpr int kColumnSums = 3;

__device__ float4 times(const float4& a, const float4& b) {
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

__device__ float4 normalised(const float4& x, const float2& moment) {
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

/// Reads the row's h and g; adds to the sums of the norm's parameters.
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

/// Warps of a block at most, so that registers have room for a warp's row and its sums.
constexpr int kMostWarps = 8;
/// Rows of a warp: the one that it works on included.
constexpr int kMostInFlight = 2;

/// How shared memory is used: each warp has `rows_in_flight` places of row_bytes.
struct RowRing {
  int rows_in_flight;  ///< 1 or 2
  int row_bytes;
  int warp_bytes;
};

__device__ void wait_for_row(int rows_in_flight) {
  if (rows_in_flight == 2) {
    wait_for_copies_but<1>();
  } else {
    wait_for_copies_but<0>();
  }
  __syncwarp();
}

__device__ void ask_for_rows(const NormShape& shape, const NormBackward& norm, std::int64_t index,
                             std::int64_t step_rows, int rows) {
  const int channels = shape.channels;
  const int lane = static_cast<int>(threadIdx.x) % kWarpThreads;
  const int bytes = channels * static_cast<int>(sizeof(float));
  if (blockIdx.x == 0 && threadIdx.x == 0) prefetch(norm.weight, bytes);
  const std::int64_t row = index + lane * step_rows;
  if (lane >= rows || row >= shape.rows) return;
  prefetch(norm.input + row * channels, bytes);
  if (!norm.overwrites_stream) prefetch(norm.stream_gradient + row * channels, bytes);
}

__device__ float2 moment_of(const NormShape& shape, const NormBackward& norm, std::int64_t index) {
  if (index >= shape.rows) return make_float2(0.0F, 0.0F);
  return make_float2(norm.mean[index], norm.inverse_deviation[index]);
}

/// A warp's rows, one after the other, through its places in shared memory.
template <typename T, int kSteps>
struct RowsOfWarp {
  const NormShape& shape;
  const NormBackward& norm;
  const RowRing& ring;
  char* memory;            ///< ring.warp_bytes
  std::int64_t step_rows;  ///< from one to the next

  __device__ RowPlace<T> place(int slot) const {
    return {memory + slot * ring.row_bytes, shape.channels};
  }
  /// Begins with a row, if it is there.
  __device__ void begin(std::int64_t index, int slot) const {
    if (index < shape.rows) begin_row<kSteps>(norm, index, place(slot));
    end_copy_group();
  }
  __device__ void begin_first(std::int64_t index) const {
    for (int slot = 0; slot < ring.rows_in_flight; ++slot) begin(index + slot * step_rows, slot);
  }
  /// Begins with the row that comes where row `index` was; all threads are done with that.
  __device__ void begin_later(std::int64_t index, int slot) const {
    __syncwarp();
    begin(index + ring.rows_in_flight * step_rows, slot);
  }
  __device__ std::uint32_t kept(const MatrixDropout& dropout, std::int64_t index) const {
    if (index >= shape.rows) return 0;
    return kept_of_row<kSteps>(dropout, index * shape.channels, shape.channels);
  }
};

/// Copies `count` floats; for all threads of the block, before they meet.
__device__ void copy_to_shared(float* to, const float* from, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    to[i] = from[i];
  }
}

/// Takes a row by each warp, then the next one that no warp of the grid has. Rows come through
/// shared memory, so that registers are left for sums over rows; which elements are kept is drawn
/// while they are on their way.
template <typename T, int kSteps>
__global__ void __launch_bounds__(kMostWarps* kWarpThreads)
    norm_backward_rows(NormShape shape, NormBackward norm, BranchGradient branch, RowRing ring,
                       float* partials) {
  extern __shared__ float4 shared_fours[];
  auto* shared = reinterpret_cast<char*>(shared_fours);
  const int channels = shape.channels;
  const int warps = static_cast<int>(blockDim.x) / kWarpThreads;
  const int warp = static_cast<int>(threadIdx.x) / kWarpThreads;
  const std::int64_t step_rows = static_cast<std::int64_t>(gridDim.x) * warps;
  std::int64_t index = blockIdx.x + static_cast<std::int64_t>(gridDim.x) * warp;
  ask_for_rows(shape, norm, index, step_rows, ring.rows_in_flight);
  pdl_wait_then_trigger();
  const RowsOfWarp<T, kSteps> rows{shape, norm, ring, shared + warp * ring.warp_bytes, step_rows};
  rows.begin_first(index);
  float2 moment = moment_of(shape, norm, index);
  auto* weight = reinterpret_cast<float*>(shared + warps * ring.warp_bytes);
  copy_to_shared(weight, norm.weight, channels);
  std::uint32_t kept = rows.kept(branch.dropout, index);
  ThreadSums<kSteps> sums{};
  __syncthreads();
  for (int slot = 0; index < shape.rows; index += step_rows) {
    const float2 next_moment = moment_of(shape, norm, index + step_rows);
    wait_for_row(ring.rows_in_flight);
    const RowPlace<T> place = rows.place(slot);
    FourGradients fours[kSteps];
    const RowMeans means = differentiate<kSteps>(place, weight, moment, fours, sums);
    write_row(norm, branch, place, index * channels, moment, means, kept, fours, sums);
    rows.begin_later(index, slot);
    slot = slot + 1 < ring.rows_in_flight ? slot + 1 : 0;
    moment = next_moment;
    kept = rows.kept(branch.dropout, index + step_rows);
  }
  write_block_sums(sums, channels, reinterpret_cast<float*>(shared), partials);
}

struct BackwardGrid {
  int blocks;
  int warps;
  RowRing ring;
};

/// Puts one block on each multiprocessor, as many rows in flight as shared memory has room for.
cudaError_t backward_grid(const NormShape& shape, int row_bytes, BackwardGrid* grid) {
  int multiprocessors = 0;
  int most_shared = 0;
  cudaError_t status = device_attribute(cudaDevAttrMultiProcessorCount, &multiprocessors);
  if (status != cudaSuccess) return status;
  status = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &most_shared);
  if (status != cudaSuccess) return status;
  const int sum_bytes = kColumnSums * shape.channels * static_cast<int>(sizeof(float));
  const int weight_bytes = shape.channels * static_cast<int>(sizeof(float));
  const int room = most_shared - weight_bytes;
  const int warps = std::min(kMostWarps, room / std::max(sum_bytes, row_bytes));
  const int in_flight = std::min(kMostInFlight, room / warps / row_bytes);
  const std::int64_t useful = std::max<std::int64_t>(1, divide_up(shape.rows, warps));
  const int most = std::min(multiprocessors, kMostPartialRows);
  *grid = {static_cast<int>(std::min<std::int64_t>(useful, most)),
           warps,
           {in_flight, row_bytes, std::max(sum_bytes, in_flight * row_bytes)}};
  return cudaSuccess;
}

template <typename T, int kSteps>
cudaError_t launch_rows(const NormShape& shape, const NormBackward& norm,
                        const BranchGradient& branch, float* partials, int* partial_rows,
                        cudaStream_t stream) {
  BackwardGrid grid{};
  const int number_bytes = static_cast<int>(sizeof(float)) * (norm.overwrites_stream ? 1 : 2) +
                           static_cast<int>(sizeof(T));
  cudaError_t status = backward_grid(shape, number_bytes * shape.channels, &grid);
  if (status != cudaSuccess) return status;
  *partial_rows = grid.blocks;
  const int shared_bytes =
      grid.warps * grid.ring.warp_bytes + shape.channels * static_cast<int>(sizeof(float));
  const auto kernel = norm_backward_rows<T, kSteps>;
  status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (status != cudaSuccess) return status;
  return launch_pdl(
      kernel,
      {dim3(static_cast<unsigned>(grid.blocks)), static_cast<unsigned>(grid.warps * kWarpThreads),
       static_cast<std::size_t>(shared_bytes)},
      stream, shape, norm, branch, grid.ring, partials);
}

bool fits(const NormBackward& norm, const BranchGradient& branch, const void* scratch) {
  return are_aligned(norm.output_gradient, norm.input, norm.weight, norm.stream_gradient) &&
         are_aligned(norm.weight_gradient, norm.bias_gradient, branch.values, scratch) &&
         are_aligned(branch.bias_gradient) && fits(branch.dropout);
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

std::int64_t norm_backward_scratch(int channels) {
  return column_sums_scratch(kColumnSums * channels);
}

cudaError_t norm_backward(ElementType activations, const NormShape& shape, const NormBackward& norm,
                          const BranchGradient& branch, void* scratch, cudaStream_t stream) {
  if (!fits(shape) || !fits(norm, branch, scratch)) return cudaErrorInvalidValue;
  auto* partials = static_cast<float*>(scratch);
  int partial_rows = 0;
  const cudaError_t status = with_activation(activations, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return with_steps(shape.channels, [&](auto steps) {
      return launch_rows<T, decltype(steps)::value>(shape, norm, branch, partials, &partial_rows,
                                                    stream);
    });
  });
  if (status != cudaSuccess) return status;
  float* branch_sums = branch.values == nullptr ? nullptr : branch.bias_gradient;
  const SumTargets targets{{norm.weight_gradient, norm.bias_gradient, branch_sums}, shape.channels};
  const int sums = branch_sums == nullptr ? kBranchSum : kColumnSums;
  return launch_sum_partial_rows(partials, partial_rows, kColumnSums * shape.channels,
                                 sums * shape.channels, targets, stream);
}

}  // namespace linkgain::kernels
