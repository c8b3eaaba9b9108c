#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/async_copy.cuh"
#include "kernels/common/math.hpp"

// Tiles of a block: rows of one head in shared memory, and products of them, by tensor cores or in
// strict single precision.

namespace linkgain::kernels {

// The instructions that a tile's path through a multiprocessor takes after it was copied into
// shared memory: 8 x 8 matrices from there to registers, and products of 16 x 8 by tensor cores.
// Names and shapes of fragments are those of the PTX ISA, "Matrix multiply-accumulate operation
// using mma instruction". Before sm_80 they trap.

/// Loads four 8 x 8 matrices of 16-bit numbers; `address` is that of a row of 16 bytes, of matrix
/// lane / 8 its row lane % 8. Each lane gets of each matrix 32 bits: row lane / 4, place lane % 4.
__device__ inline void load_matrices(std::uint32_t (&matrices)[4], std::uint32_t address) {
#if __CUDA_ARCH__ >= 750
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(address));
#else
  __trap();
#endif
}

/// Loads the matrices' transposes.
__device__ inline void load_transposed(std::uint32_t (&matrices)[4], std::uint32_t address) {
#if __CUDA_ARCH__ >= 750
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(address));
#else
  __trap();
#endif
}

/// Adds one product of fragments: `upper` are a lane's two sums of row lane / 4, `lower` those of
/// the row 8 below.
__device__ inline void multiply_add_bf16(float* upper, float* lower, const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(upper[0]), "+f"(upper[1]), "+f"(lower[0]), "+f"(lower[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  __trap();
#endif
}

__device__ inline void multiply_add_tf32(float* upper, float* lower, const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(upper[0]), "+f"(upper[1]), "+f"(lower[0]), "+f"(lower[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  __trap();
#endif
}

/// Returns the same value, of which the compiler knows nothing: what is computed from it is
/// computed where it is used, rather than before a loop and kept in registers that are short.
__device__ inline int not_ahead(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

/// Returns the nearest TF32 number's bits.
__device__ inline std::uint32_t round_to_tf32(float value) {
  std::uint32_t bits = 0;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
#else
  __trap();
#endif
  return bits;
}

/// Packs two bfloat16 numbers, `low` in the lower half.
__device__ inline std::uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

// Rows of one head in shared memory, and where they come from.

/// Sums of a thread, by its rows and columns.
template <int kRows, int kColumns>
struct ThreadSums {
  static constexpr int kColumnCount = kColumns;

  float at[kRows][kColumns];

  /// Sets to 0 what `kept`, asked for row and column, has not.
  template <typename DropoutBits>
  __device__ void drop(const DropoutBits& kept) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns; ++j) at[i][j] = kept(i, j) ? at[i][j] : 0.0F;
    }
  }

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns; ++j) at[i][j] = 0.0F;
    }
  }
};

/// Rows of one head of one sample in global memory.
template <typename Number>
struct HeadRows {
  Number* first;
  std::int64_t stride;  ///< numbers from row to row
  int rows;

  __device__ Number* at(int row) const { return first + row * stride; }
};

/// Rows of kChannels numbers in shared memory. Their chunks of 16 bytes are exchanged within 128
/// bytes so that neither the same chunk of 8 rows, nor 8 neighbours of one row, nor 8 numbers of
/// each of 4 alternate rows share a bank.
template <typename Number, int kChannels>
class SharedTile {
 public:
  static constexpr int kRowBytes = kChannels * static_cast<int>(sizeof(Number));
  static constexpr int kChunks = kRowBytes / kCopyChunk;
  static constexpr int kNumbersPerChunk = kCopyChunk / static_cast<int>(sizeof(Number));

  __device__ explicit SharedTile(char* memory) : memory_(memory) {}

  /// Returns what a chunk's number is combined with (exclusive or) in this row; the same 8 rows on.
  static __device__ constexpr int exchange(int row) {
    return kChunks >= 8 ? row & 7 : (row >> 1) & (kChunks - 1);
  }
  /// Returns the offset in bytes; all of `chunk`'s bits may come from thread and loop alike.
  static __device__ constexpr int offset(int row, int chunk) {
    return row * kRowBytes + (chunk ^ exchange(row)) * kCopyChunk;
  }
  __device__ std::uint32_t address() const { return shared_address(memory_); }
  __device__ const float4& chunk(int row, int chunk) const {
    return *reinterpret_cast<const float4*>(memory_ + offset(row, chunk));
  }
  __device__ const Number& number(int row, int channel) const {
    return *reinterpret_cast<const Number*>(memory_ + offset(row, channel / kNumbersPerChunk) +
                                            channel % kNumbersPerChunk *
                                                static_cast<int>(sizeof(Number)));
  }

  /// Begins to load kRows rows from `first` on; those beyond the end are zeros.
  template <int kRows, int kThreads>
  __device__ void begin_load(const HeadRows<const Number>& from, int first) const {
    constexpr int kRowsAtOnce = kThreads / kChunks;
    static_assert(kRows % kRowsAtOnce == 0, "every thread has as many chunks");
    static_assert(kRowsAtOnce % 8 == 0, "a thread's chunks are exchanged alike");
    const int row = static_cast<int>(threadIdx.x) / kChunks;
    const int chunk = static_cast<int>(threadIdx.x) % kChunks;
    char* to = memory_ + offset(row, chunk);
    const Number* source = from.at(first + row) + chunk * kNumbersPerChunk;
#pragma unroll
    for (int i = 0; i < kRows; i += kRowsAtOnce) {
      begin_copy(static_cast<void*>(to + i * kRowBytes), source, first + row + i < from.rows);
      source += kRowsAtOnce * from.stride;
    }
  }

  /// Waits for what this thread has begun to load, and rounds it where Tiles wants TF32. The others
  /// see it after a barrier.
  template <typename Tiles, int kRows>
  __device__ void end_load() const {
    wait_for_copies();
    if constexpr (Tiles::kRounds) {
      constexpr int kRowsAtOnce = Tiles::kThreads / kChunks;
      char* place = memory_ + offset(static_cast<int>(threadIdx.x) / kChunks,
                                     static_cast<int>(threadIdx.x) % kChunks);
#pragma unroll
      for (int i = 0; i < kRows; i += kRowsAtOnce, place += kRowsAtOnce * kRowBytes) {
        const float4 loaded = *reinterpret_cast<const float4*>(place);
        *reinterpret_cast<uint4*>(place) =
            make_uint4(round_to_tf32(loaded.x), round_to_tf32(loaded.y), round_to_tf32(loaded.z),
                       round_to_tf32(loaded.w));
      }
    }
  }

 private:
  char* memory_;
};

/// Stores neighbouring numbers with one access, which the compiler would split if it were plain.
__device__ inline void store_numbers(float* to, float a, float b) {
  __stcg(reinterpret_cast<float2*>(to), make_float2(a, b));
}

__device__ inline void store_numbers(__nv_bfloat16* to, float a, float b) {
  *reinterpret_cast<std::uint32_t*>(to) = pack_bf16(a, b);
}

// Products of a block's tiles by tensor cores.

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

  /// Returns the shared memory that products take for themselves.
  static constexpr int scratch_bytes(int /*columns*/) { return 0; }
  __device__ explicit TensorTiles(char* /*scratch*/) {}

  __device__ int warp_row() const { return static_cast<int>(threadIdx.x) / 32 * kWarpRows; }
  __device__ int row(int i) const { return warp_row() + i * 8 + lane() / 4; }
  __device__ int column(int j) const { return j / 2 * 8 + lane() % 4 * 2 + j % 2; }
  __device__ int output_column(int j) const { return column(j); }
  /// Returns where in a lane's word of dropout's mask row i and column j of a square are.
  static __device__ constexpr int bit_of(int i, int j) { return i * 8 + j; }
  /// Returns whether this thread speaks for its rows.
  __device__ bool leads_rows() const { return lane() % 4 == 0; }

  __device__ float largest_of_row(float value) const {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, 1));
    return fmaxf(value, __shfl_xor_sync(0xffffffffU, value, 2));
  }
  __device__ float sum_of_row(float value) const {
    value += __shfl_xor_sync(0xffffffffU, value, 1);
    return value + __shfl_xor_sync(0xffffffffU, value, 2);
  }

  /// Computes sums = rows of a times rows of b, which are the columns.
  template <int kColumns, int kChannels>
  __device__ void multiply_rows(Sums<kColumns>& sums, const SharedTile<Number, kChannels>& a,
                                const SharedTile<Number, kChannels>& b) const {
    using Tile = SharedTile<Number, kChannels>;
    sums.clear();
    // The left's matrices are rows 0 and 8, then the same of the next chunk; the right's are both
    // chunks of column 0, then of column 8.
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
        add_products(sums, n, left, right);
      }
    }
  }

  /// Computes sums += weights times b, whose rows are the weights' columns.
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
        add_products(sums, n, left, right);
      }
    }
  }

  /// Multiplies, although a lane has columns 2t and 2t + 1 of the weights and the product wants t
  /// and t + 4. The order of a sum's terms is free, so b's rows are taken in the same order.
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

  /// Computes sums += left times right, whose columns are those from 16 n on.
  template <typename AllSums>
  static __device__ void add_products(AllSums& sums, int n,
                                      const std::uint32_t (&left)[kRowTiles][4],
                                      const std::uint32_t (&right)[4]) {
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
      float* upper = &sums.at[2 * m][4 * n];
      float* lower = &sums.at[2 * m + 1][4 * n];
      Cores::multiply_add(upper, lower, left[m], right[0], right[1]);
      Cores::multiply_add(upper + 2, lower + 2, left[m], right[2], right[3]);
    }
  }
};

// Products of a block's tiles in strict single precision.

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

  /// Returns the shared memory that products take for themselves.
  static constexpr int scratch_bytes(int columns) {
    return kBlockRows * columns * static_cast<int>(sizeof(float));
  }
  __device__ explicit StrictTiles(char* scratch) : scratch_(reinterpret_cast<float*>(scratch)) {}

  __device__ int warp_row() const { return static_cast<int>(threadIdx.x) / 32 * kWarpRows; }
  __device__ int row(int i) const { return warp_row() + i * 4 + lane_row(); }
  __device__ int column(int j) const { return j * 8 + lane_column(); }
  __device__ int output_column(int j) const { return j / 4 * 32 + lane_column() * 4 + j % 4; }
  /// Returns where in a lane's word of dropout's mask row i and column j of a square are.
  static __device__ constexpr int bit_of(int i, int j) { return i / 4 * 16 + j * 4 + i % 4; }
  /// Returns whether this thread speaks for its rows.
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

  /// Computes sums = rows of a times rows of b, which are the columns.
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

  /// Computes sums += weights times b, whose rows are the weights' columns. The weights go through
  /// scratch, of which every warp uses its own rows.
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

  /// Returns what of transposed products a thread has: 4 rows and 4 columns from here on.
  __device__ int transposed_row() const { return lane_column() * 4; }
  __device__ int transposed_column() const {
    return (static_cast<int>(threadIdx.x) / 32 * 4 + lane_row()) * 4;
  }

  /// Computes sums += what add_weighted() was last given, of all warps and transposed, times b: its
  /// columns are the rows, and the first `rows` (a multiple of 8) of its rows b's rows.
  template <int kColumns, int kChannels>
  __device__ void add_transposed(ThreadSums<4, 4>& sums, const SharedTile<float, kChannels>& b,
                                 int rows) const {
    static_assert(kColumns == 32 && kChannels == 16 * kWarps, "every thread has 4 by 4");
    for (int first = 0; first < rows; first += 8) {
#pragma unroll
      for (int row = 0; row < 8; ++row) {
        const float4 left = *reinterpret_cast<const float4*>(
            scratch_ + first * kColumns + scratch_place<kColumns>(row, transposed_row()));
        const float4 right = b.chunk(first + row, transposed_column() / 4);
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

  /// Exchanges chunks so that neither the stores nor the loads share banks.
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
