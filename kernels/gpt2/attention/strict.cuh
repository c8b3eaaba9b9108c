#pragma once

#include <cuda_runtime_api.h>

#include "kernels/gpt2/attention/tile.cuh"

// Products of a block's tiles in strict single precision.

namespace linkgain::kernels {

/// Who has what: a warp has 4 * kThreadRows rows and all columns, a lane every fourth row and every
/// eighth column, of outputs four neighbouring columns of every 32. That way the rows that a warp
/// reads at once never share a bank.
template <int kWarps, int kThreadRows>
class StrictTiles {
 public:
  using Number = float;
  static constexpr bool kRounds = false;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kWarpRows = 4 * kThreadRows;
  static constexpr int kBlockRows = kWarpRows * kWarps;
  static constexpr int kRows = kThreadRows;  ///< of a thread
  template <int kColumns>
  using Sums = ThreadSums<kRows, kColumns / 8>;

  /// Shared memory that products take for themselves.
  static constexpr int scratch_bytes(int columns) {
    return kBlockRows * columns * static_cast<int>(sizeof(float));
  }
  __device__ explicit StrictTiles(char* scratch) : scratch_(reinterpret_cast<float*>(scratch)) {}

  __device__ int warp_row() const { return static_cast<int>(threadIdx.x) / 32 * kWarpRows; }
  __device__ int row(int i) const { return warp_row() + i * 4 + lane_row(); }
  __device__ int column(int j) const { return j * 8 + lane_column(); }
  __device__ int output_column(int j) const { return j / 4 * 32 + lane_column() * 4 + j % 4; }
  /// Where in a lane's word of dropout's mask row i and column j of a square are.
  static __device__ constexpr int kept_bit(int i, int j) { return i / 4 * 16 + j * 4 + i % 4; }
  /// Whether this thread speaks for its rows.
  __device__ bool leads_rows() const { return lane_column() == 0; }

  __device__ float largest_of_row(float value) const {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, 2));
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, 4));
    return fmaxf(value, __shfl_xor_sync(0xffffffffU, value, 8));
  }
  __device__ float sum_of_row(float value) const {
    value += __shfl_xor_sync(0xffffffffU, value, 2);
    value += __shfl_xor_sync(0xffffffffU, value, 4);
    return value + __shfl_xor_sync(0xffffffffU, value, 8);
  }

  /// sums = rows of a times rows of b, which are the columns.
  template <int kColumns, int kChannels>
  __device__ void multiply_rows(Sums<kColumns>& sums, const SharedTile<float, kChannels>& a,
                                const SharedTile<float, kChannels>& b) const {
    sums.clear();
#pragma unroll 2
    for (int chunk = 0; chunk < kChannels / 4; ++chunk) {
      float4 left[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) left[i] = a.chunk(row(i), chunk);
#pragma unroll
      for (int j = 0; j < kColumns / 8; ++j) {
        const float4 right = b.chunk(column(j), chunk);
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          float& sum = sums.at[i][j];
          sum = fmaf(left[i].x, right.x, sum);
          sum = fmaf(left[i].y, right.y, sum);
          sum = fmaf(left[i].z, right.z, sum);
          sum = fmaf(left[i].w, right.w, sum);
        }
      }
    }
  }

  /// sums += weights times b, whose rows are the weights' columns. The weights go through scratch,
  /// of which every warp uses its own rows.
  template <int kColumns, int kChannels>
  __device__ void add_weighted(Sums<kChannels>& sums, const Sums<kColumns>& weights,
                               const SharedTile<float, kChannels>& b) const {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns / 8; ++j) {
        scratch_[scratch_place<kColumns>(row(i), column(j))] = weights.at[i][j];
      }
    }
    __syncwarp();
#pragma unroll 2
    for (int four = 0; four < kColumns; four += 4) {
      float4 left[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        left[i] =
            *reinterpret_cast<const float4*>(scratch_ + scratch_place<kColumns>(row(i), four));
      }
      add_row(sums, left, &float4::x, b, four);
      add_row(sums, left, &float4::y, b, four + 1);
      add_row(sums, left, &float4::z, b, four + 2);
      add_row(sums, left, &float4::w, b, four + 3);
    }
  }

  /// What of turned products a thread has: 4 rows and 4 columns from here on.
  __device__ int turned_row() const { return lane_column() * 4; }
  __device__ int turned_column() const {
    return (static_cast<int>(threadIdx.x) / 32 * 4 + lane_row()) * 4;
  }

  /// sums += what add_weighted() was last given, of all warps and turned round, times b: its
  /// columns are the rows, and the first `rows` (a multiple of 8) of its rows b's rows.
  template <int kColumns, int kChannels>
  __device__ void add_turned(ThreadSums<4, 4>& sums, const SharedTile<float, kChannels>& b,
                             int rows) const {
    static_assert(kColumns == 32 && kChannels == 16 * kWarps, "every thread has 4 by 4");
    for (int first = 0; first < rows; first += 8) {
#pragma unroll
      for (int row = 0; row < 8; ++row) {
        const float4 left = *reinterpret_cast<const float4*>(
            scratch_ + first * kColumns + scratch_place<kColumns>(row, turned_row()));
        const float4 right = b.chunk(first + row, turned_column() / 4);
        const float weights[4] = {left.x, left.y, left.z, left.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          sums.at[i][0] = fmaf(weights[i], right.x, sums.at[i][0]);
          sums.at[i][1] = fmaf(weights[i], right.y, sums.at[i][1]);
          sums.at[i][2] = fmaf(weights[i], right.z, sums.at[i][2]);
          sums.at[i][3] = fmaf(weights[i], right.w, sums.at[i][3]);
        }
      }
    }
  }

  __device__ int lane_row() const { return (lane() & 1) | lane() >> 4 << 1; }
  __device__ int lane_column() const { return lane() >> 1 & 7; }
  static __device__ constexpr int lane_at(int row, int column) {
    return (row & 1) | column << 1 | row >> 1 << 4;
  }

 private:
  static __device__ int lane() { return static_cast<int>(threadIdx.x) % 32; }

  /// Chunks are exchanged so that neither the stores nor the loads share banks.
  template <int kColumns>
  static __device__ int scratch_place(int row, int column) {
    return row * kColumns + ((column / 4 ^ (row & 3) * 2) * 4 + column % 4);
  }

  template <int kChannels>
  __device__ void add_row(ThreadSums<kRows, kChannels / 8>& sums, const float4 (&left)[kRows],
                          float float4::*weight, const SharedTile<float, kChannels>& b,
                          int b_row) const {
#pragma unroll
    for (int part = 0; part < kChannels / 32; ++part) {
      const float4 right = b.chunk(b_row, part * 8 + lane_column());
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        float* sum = &sums.at[i][part * 4];
        sum[0] = fmaf(left[i].*weight, right.x, sum[0]);
        sum[1] = fmaf(left[i].*weight, right.y, sum[1]);
        sum[2] = fmaf(left[i].*weight, right.z, sum[2]);
        sum[3] = fmaf(left[i].*weight, right.w, sum[3]);
      }
    }
  }

  float* scratch_;
};

}  // namespace linkgain::kernels
