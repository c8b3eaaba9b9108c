#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/gpt2/attention/tensor_cores.cuh"

// Rows of one head in shared memory, and where they come from.

namespace linkgain::kernels {

/// Sums of a thread, by its rows and columns.
template <int kRows, int kColumns>
struct ThreadSums {
  static constexpr int kColumnCount = kColumns;

  float at[kRows][kColumns];

  /// Sets to 0 what `kept`, asked for row and column, has not.
  template <typename Kept>
  __device__ void drop(const Kept& kept) {
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

  /// What a chunk's number is combined with (exclusive or) in this row; the same 8 rows on.
  static __device__ constexpr int exchange(int row) {
    return kChunks >= 8 ? row & 7 : (row >> 1) & (kChunks - 1);
  }
  /// In bytes; all of `chunk`'s bits may come from thread and loop alike.
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

}  // namespace linkgain::kernels
