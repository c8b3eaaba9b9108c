#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/gpt2/attention/tensor_cores.cuh"
#include "kernels/gpt2/attention/tile.cuh"

// Products of a block's tiles by tensor cores.

namespace linkgain::kernels {

struct Bf16Cores {
  using Number = __nv_bfloat16;
  static constexpr bool kRounds = false;  ///< whether tiles have to be rounded once they are loaded

  static __device__ void multiply_add(float* upper, float* lower, const std::uint32_t (&a)[4],
                                      std::uint32_t b0, std::uint32_t b1) {
    multiply_add_bf16(upper, lower, a, b0, b1);
  }
};

struct Tf32Cores {
  using Number = float;
  static constexpr bool kRounds = true;

  static __device__ void multiply_add(float* upper, float* lower, const std::uint32_t (&a)[4],
                                      std::uint32_t b0, std::uint32_t b1) {
    multiply_add_tf32(upper, lower, a, b0, b1);
  }
};

/// Who has what: a warp has kRowTiles times 16 rows and all columns; a lane of each 16 x 8 the
/// rows lane / 4 and 8 below it, and two neighbouring columns from lane % 4 * 2 on.
template <typename Cores, int kWarps, int kRowTiles>
class TensorTiles {
 public:
  using Number = typename Cores::Number;
  static constexpr bool kRounds = Cores::kRounds;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kWarpRows = 16 * kRowTiles;
  static constexpr int kBlockRows = kWarpRows * kWarps;
  static constexpr int kRows = 2 * kRowTiles;  ///< of a thread
  template <int kColumns>
  using Sums = ThreadSums<kRows, kColumns / 4>;

  /// Shared memory that products take for themselves.
  static constexpr int scratch_bytes(int /*columns*/) { return 0; }
  __device__ explicit TensorTiles(char* /*scratch*/) {}

  __device__ int warp_row() const { return static_cast<int>(threadIdx.x) / 32 * kWarpRows; }
  __device__ int row(int i) const { return warp_row() + i * 8 + lane() / 4; }
  __device__ int column(int j) const { return j / 2 * 8 + lane() % 4 * 2 + j % 2; }
  __device__ int output_column(int j) const { return column(j); }
  /// Where in a lane's word of dropout's mask row i and column j of a square are.
  static __device__ constexpr int kept_bit(int i, int j) { return i * 8 + j; }
  /// Whether this thread speaks for its rows.
  __device__ bool leads_rows() const { return lane() % 4 == 0; }

  __device__ float largest_of_row(float value) const {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, 1));
    return fmaxf(value, __shfl_xor_sync(0xffffffffU, value, 2));
  }
  __device__ float sum_of_row(float value) const {
    value += __shfl_xor_sync(0xffffffffU, value, 1);
    return value + __shfl_xor_sync(0xffffffffU, value, 2);
  }

  /// sums = rows of a times rows of b, which are the columns.
  template <int kColumns, int kChannels>
  __device__ void multiply_rows(Sums<kColumns>& sums, const SharedTile<Number, kChannels>& a,
                                const SharedTile<Number, kChannels>& b) const {
    using Tile = SharedTile<Number, kChannels>;
    sums.clear();
    // Of the left the matrices are rows 0 and 8, then the same of the next chunk; of the right
    // both chunks of column 0, then of column 8.
    const int a_row = warp_row() + lane() % 16;
    const int a_chunk = not_ahead(lane() / 16 ^ Tile::exchange(a_row));
    const int b_row = lane() / 16 * 8 + lane() % 8;
    const int b_chunk = not_ahead(lane() / 8 % 2 ^ Tile::exchange(b_row));
    const std::uint32_t a_address = a.address() + a_row * Tile::kRowBytes;
    const std::uint32_t b_address = b.address() + b_row * Tile::kRowBytes;
#pragma unroll
    for (int step = 0; step < Tile::kChunks / 2; ++step) {
      std::uint32_t left[kRowTiles][4];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
        load_matrices(left[m],
                      a_address + m * 16 * Tile::kRowBytes + ((step * 2) ^ a_chunk) * kCopyChunk);
      }
#pragma unroll
      for (int n = 0; n < kColumns / 16; ++n) {
        std::uint32_t right[4];
        load_matrices(right,
                      b_address + n * 16 * Tile::kRowBytes + ((step * 2) ^ b_chunk) * kCopyChunk);
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          float* upper = &sums.at[2 * m][4 * n];
          float* lower = &sums.at[2 * m + 1][4 * n];
          Cores::multiply_add(upper, lower, left[m], right[0], right[1]);
          Cores::multiply_add(upper + 2, lower + 2, left[m], right[2], right[3]);
        }
      }
    }
  }

  /// sums += weights times b, whose rows are the weights' columns.
  template <int kColumns, int kChannels>
  __device__ void add_weighted(Sums<kChannels>& sums, const Sums<kColumns>& weights,
                               const SharedTile<__nv_bfloat16, kChannels>& b) const {
    using Tile = SharedTile<__nv_bfloat16, kChannels>;
    const int b_row = lane() % 16;
    const int b_chunk = not_ahead(lane() / 16 ^ Tile::exchange(b_row));
    const std::uint32_t b_address = b.address() + b_row * Tile::kRowBytes;
#pragma unroll
    for (int step = 0; step < kColumns / 16; ++step) {
      std::uint32_t left[kRowTiles][4];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
        for (int part = 0; part < 4; ++part) {
          const float* pair = &weights.at[2 * m + part % 2][4 * step + part / 2 * 2];
          left[m][part] = pack_bf16(pair[0], pair[1]);
        }
      }
#pragma unroll
      for (int n = 0; n < kChannels / 16; ++n) {
        std::uint32_t right[4];
        load_transposed(right,
                        b_address + step * 16 * Tile::kRowBytes + ((n * 2) ^ b_chunk) * kCopyChunk);
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          float* upper = &sums.at[2 * m][4 * n];
          float* lower = &sums.at[2 * m + 1][4 * n];
          Cores::multiply_add(upper, lower, left[m], right[0], right[1]);
          Cores::multiply_add(upper + 2, lower + 2, left[m], right[2], right[3]);
        }
      }
    }
  }

  /// A lane has columns 2t and 2t + 1 of the weights where the product wants t and t + 4. The order
  /// of a sum's terms is free, so b's rows are taken in the same order.
  template <int kColumns, int kChannels>
  __device__ void add_weighted(Sums<kChannels>& sums, const Sums<kColumns>& weights,
                               const SharedTile<float, kChannels>& b) const {
    const int b_row = not_ahead(lane() % 4 * 2);
    const int b_channel = lane() / 4;
#pragma unroll
    for (int step = 0; step < kColumns / 8; ++step) {
      std::uint32_t left[kRowTiles][4];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
        for (int part = 0; part < 4; ++part) {
          left[m][part] = round_to_tf32(weights.at[2 * m + part % 2][2 * step + part / 2]);
        }
      }
#pragma unroll
      for (int n = 0; n < kChannels / 8; ++n) {
        const float even = b.number(step * 8 + b_row, n * 8 + b_channel);
        const float odd = b.number(step * 8 + b_row + 1, n * 8 + b_channel);
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          Cores::multiply_add(&sums.at[2 * m][2 * n], &sums.at[2 * m + 1][2 * n], left[m],
                              __float_as_uint(even), __float_as_uint(odd));
        }
      }
    }
  }

 private:
  static __device__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
};

}  // namespace linkgain::kernels
