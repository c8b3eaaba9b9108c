#include <algorithm>

#include "kernels/common/device_attribute.hpp"
#include "kernels/gpt2/bias_gradient.hpp"
#include "kernels/gpt2/layer_norm.hpp"
#include "kernels/gpt2/layer_norm_checks.cuh"
#include "kernels/gpt2/partial_sums.cuh"
#include "kernels/gpt2/row_gradient.cuh"

namespace linkgain::kernels {
namespace {

/// Of a block, so that registers have room for a warp's row and its sums.
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

/// A warp for each row, then the next one that no warp of the grid has. Rows come through shared
/// memory, so that registers are left for sums over rows; which elements are kept is drawn while
/// they are on their way.
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

/// One block on each multiprocessor, as many rows in flight as shared memory has room for.
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
