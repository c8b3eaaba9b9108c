#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "kernels/common/async_copy.cuh"
#include "kernels/common/math.hpp"
#include "kernels/common/pdl.cuh"
#include "kernels/gpt2/activation_vectors.cuh"
#include "kernels/gpt2/column_sums.hpp"

// Sums over the columns of a matrix whose values are read, or made, in passing. Two phases, two
// launches: blocks leave rows of partial sums in scratch, which the second adds up in order.

namespace linkgain::kernels {

// The second phase.

/// Where sums of columns go: `width` columns to each, one after the other.
struct SumTargets {
  float* sums[3];
  int width;
};

inline constexpr int kSumWarps = 16;
inline constexpr int kRowsOfSumWarp = kMostPartialRows / kSumWarps;

/// Sums 32 columns a block, a column for each thread of a warp; a warp has every 16th row, all of
/// them in flight at once. Starts while the first stage ends, and waits for that.
static __global__ void __launch_bounds__(kSumWarps* kWarpThreads)
    sum_partial_rows(const float* partials, int rows, int pitch, int columns, SumTargets targets) {
  __shared__ float sums[kSumWarps][kWarpThreads];
  pdl_wait_then_trigger();
  const int lane = static_cast<int>(threadIdx.x) % kWarpThreads;
  const int warp = static_cast<int>(threadIdx.x) / kWarpThreads;
  const int column = static_cast<int>(blockIdx.x) * kWarpThreads + lane;
  float values[kRowsOfSumWarp];
#pragma unroll
  for (int k = 0; k < kRowsOfSumWarp; ++k) {
    const int row = k * kSumWarps + warp;
    const bool is_there = row < rows && column < columns;
    values[k] = is_there ? partials[static_cast<std::int64_t>(row) * pitch + column] : 0.0F;
  }
  float sum = values[0];
#pragma unroll
  for (int k = 1; k < kRowsOfSumWarp; ++k) sum += values[k];
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || column >= columns) return;
#pragma unroll
  for (int other = 1; other < kSumWarps; ++other) sum += sums[other][lane];
  const int target = column / targets.width;
  float* const to = target == 0 ? targets.sums[0] : target == 1 ? targets.sums[1] : targets.sums[2];
  to[column - target * targets.width] = sum;
}

/// Enqueues the second stage for the first `columns` columns, width * targets in use, of `rows`
/// rows of partial sums, at most kMostPartialRows, that lie `pitch` apart.
inline cudaError_t launch_sum_partial_rows(const float* partials, int rows, int pitch, int columns,
                                           const SumTargets& targets, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(divide_up(columns, kWarpThreads));
  return launch_pdl(sum_partial_rows, blocks, kSumWarps * kWarpThreads, stream, partials, rows,
                    pitch, columns, targets);
}

// The first phase.

inline constexpr int kTileThreads = 256;
inline constexpr int kTileWarps = kTileThreads / kWarpThreads;

struct TileGrid {
  int tiles;           ///< of columns: a vector for each of a warp's threads
  int partial_rows;    ///< blocks over the rows
  int rows_per_block;  ///< the last may have fewer, or none
};

/// Chooses the same grid on every device, so that sums are the same.
template <typename T>
TileGrid tile_grid(std::int64_t rows, int columns) {
  constexpr std::int64_t kBlocks = 264;  // two for each multiprocessor of the largest devices
  constexpr int kColumns = kWarpThreads * kVectorElements<T>;
  constexpr std::int64_t kFewestRows = 2 * kTileWarps;
  const int tiles = divide_up(columns, kColumns);
  const std::int64_t wanted = std::max<std::int64_t>(1, kBlocks / tiles);
  const std::int64_t useful = std::max<std::int64_t>(1, divide_up(rows, kFewestRows));
  const std::int64_t blocks = std::min<std::int64_t>({wanted, useful, kMostPartialRows});
  return {tiles, static_cast<int>(blocks), static_cast<int>(divide_up(rows, blocks))};
}

/// Adds up what the block's warps have in `sums`, and writes it to its row of `partials`.
template <int kElements>
__device__ void write_partial_sums(const float (&sums)[kElements], int columns, float* partials) {
  __shared__ float shared[kTileWarps][kWarpThreads * kElements];
  const int lane = static_cast<int>(threadIdx.x) % kWarpThreads;
  const int warp = static_cast<int>(threadIdx.x) / kWarpThreads;
#pragma unroll
  for (int e = 0; e < kElements; ++e) shared[warp][e * kWarpThreads + lane] = sums[e];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kWarpThreads * kElements; i += kTileThreads) {
    float total = 0.0F;
#pragma unroll
    for (int w = 0; w < kTileWarps; ++w) {
      total += shared[w][i % kElements * kWarpThreads + i / kElements];
    }
    const int column = static_cast<int>(blockIdx.x) * kWarpThreads * kElements + i;
    if (column < columns) {
      partials[static_cast<std::int64_t>(blockIdx.y) * columns + column] = total;
    }
  }
}

/// A thread's vectors of its tile: every kTileWarps-th row.
struct TilePart {
  std::int64_t first;  ///< in vectors
  int stride;          ///< to the next, in vectors
  int count;

  __device__ std::int64_t at(int i) const { return first + static_cast<std::int64_t>(i) * stride; }
};

__device__ inline TilePart tile_part(std::int64_t rows, int pitch, int rows_per_block) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpThreads;
  const int warp = static_cast<int>(threadIdx.x) / kWarpThreads;
  const int vector = static_cast<int>(blockIdx.x) * kWarpThreads + lane;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * rows_per_block;
  const std::int64_t left = rows - first;
  const int own = static_cast<int>(left < rows_per_block ? left : rows_per_block) - warp;
  const int count = vector < pitch && own > 0 ? divide_up(own, kTileWarps) : 0;
  return {(first + warp) * pitch + vector, kTileWarps * pitch, count};
}

/// Asks, by a lane for each of the first rows, for what of them the warp reads that is old.
template <typename Work>
__device__ void ask_for_part(const TilePart& part, int pitch, const Work& work) {
  constexpr int kRows = 8;
  const int lane = static_cast<int>(threadIdx.x) % kWarpThreads;
  const int begin = static_cast<int>(blockIdx.x) * kWarpThreads;
  const int width = pitch - begin < kWarpThreads ? pitch - begin : kWarpThreads;
  const int count = __shfl_sync(kWholeWarp, part.count, 0);
  if (lane >= count || lane >= kRows) return;
  const std::int64_t place = part.at(lane) - lane;
#pragma unroll
  for (int operand = 0; operand < Work::kOldOperands; ++operand) {
    prefetch(work.operands[operand] + place, 16 * width);
  }
}

/// Vectors of each operand that a thread has under way.
template <typename Work>
inline constexpr int kTileDepth = 12 / Work::kOperands;

/// A thread's vectors of all operands on their way through places of its own in shared memory.
template <typename Work>
class VectorsUnderWay {
 public:
  __device__ VectorsUnderWay(uint4* places, const Work& work, const TilePart& part)
      : places_(places + threadIdx.x), work_(work), part_(part) {}

  /// Begins with vector i, which may be none, in place i % kTileDepth, which the caller knows.
  __device__ void begin(int i, int depth) {
#pragma unroll
    for (int operand = 0; operand < Work::kOperands; ++operand) {
      if (i < part_.count) {
        begin_copy(place(depth, operand), work_.operands[operand] + part_.at(i), true);
      }
    }
    end_copy_group();
  }

  /// Waits for the vector in `depth`, which was begun first.
  __device__ void take(int depth, uint4 (&loaded)[Work::kOperands]) {
    wait_for_copies_but<kTileDepth<Work> - 1>();
#pragma unroll
    for (int operand = 0; operand < Work::kOperands; ++operand) {
      loaded[operand] = *place(depth, operand);
    }
  }

 private:
  __device__ uint4* place(int depth, int operand) const {
    return places_ + (depth * Work::kOperands + operand) * kTileThreads;
  }

  uint4* places_;
  const Work& work_;
  const TilePart& part_;
};

/// Sums a block's part of a matrix: a tile of columns and some rows, which its warps take in turn.
/// Work::operands are the matrices that it reads, of which the first kOldOperands are not what the
/// launch before wrote; work.finish(i, loaded, values) gives the values of vector i from theirs.
/// `partials` may be null: then nothing is summed.
template <typename T, typename Work>
__global__ void __launch_bounds__(kTileThreads, 2)
    work_on_tiles(std::int64_t rows, int columns, int rows_per_block, Work work, float* partials) {
  constexpr int kDepth = kTileDepth<Work>;
  constexpr int kElements = kVectorElements<T>;
  extern __shared__ uint4 places[];
  const int pitch = columns / kElements;
  const TilePart part = tile_part(rows, pitch, rows_per_block);
  ask_for_part(part, pitch, work);
  pdl_wait_then_trigger();
  VectorsUnderWay<Work> vectors(places, work, part);
#pragma unroll
  for (int depth = 0; depth < kDepth; ++depth) vectors.begin(depth, depth);
  float sums[kElements] = {};
  for (int start = 0; start < part.count; start += kDepth) {
#pragma unroll
    for (int depth = 0; depth < kDepth; ++depth) {
      const int i = start + depth;
      if (i >= part.count) break;
      uint4 loaded[Work::kOperands];
      vectors.take(depth, loaded);
      float values[kElements];
      work.finish(part.at(i), loaded, values);
#pragma unroll
      for (int e = 0; e < kElements; ++e) sums[e] += values[e];
      vectors.begin(i + kDepth, depth);
    }
  }
  if (partials != nullptr) write_partial_sums(sums, columns, partials);
}

/// Enqueues both stages; the second only where `sums` is not null.
template <typename T, typename Work>
cudaError_t launch_on_tiles(std::int64_t rows, int columns, const Work& work, float* sums,
                            float* scratch, cudaStream_t stream) {
  constexpr int kShared = kTileDepth<Work> * Work::kOperands * kTileThreads * 16;
  const TileGrid grid = tile_grid<T>(rows, columns);
  float* partials = sums == nullptr ? nullptr : scratch;
  const dim3 blocks(static_cast<unsigned>(grid.tiles), static_cast<unsigned>(grid.partial_rows));
  const auto kernel = work_on_tiles<T, Work>;
  cudaError_t status =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  if (status != cudaSuccess) return status;
  status = launch_pdl(kernel, {blocks, kTileThreads, kShared}, stream, rows, columns,
                      grid.rows_per_block, work, partials);
  if (status != cudaSuccess || sums == nullptr) return status;
  return launch_sum_partial_rows(partials, grid.partial_rows, columns, columns, {{sums}, columns},
                                 stream);
}

}  // namespace linkgain::kernels
