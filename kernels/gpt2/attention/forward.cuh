#pragma once

#include <cuda_runtime_api.h>

#include "kernels/gpt2/attention/arguments.cuh"

namespace linkgain::kernels {

/// The running softmax of a thread's rows: probabilities so far are exp2((score - largest) * base),
/// which a new largest score corrects.
template <int kRows>
class RunningSoftmax {
 public:
  /// Begins a softmax; `base` is the scores' scale times the base 2 logarithm of e, above 0.
  __device__ explicit RunningSoftmax(float base) : base_(base) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      largest_[i] = -INFINITY;
      sums_[i] = 0.0F;
    }
  }

  /// Turns scores, of each row at least one finite, into probabilities; `corrections` are what
  /// earlier ones are to be multiplied with.
  template <typename Tiles, int kColumns>
  __device__ void add(const Tiles& tiles, ThreadSums<kRows, kColumns>& scores,
                      float (&corrections)[kRows]) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float largest = largest_[i];
#pragma unroll
      for (int j = 0; j < kColumns; ++j) largest = fmaxf(largest, scores.at[i][j]);
      largest = tiles.largest_of_row(largest);
      corrections[i] = fast_exp2((largest_[i] - largest) * base_);
      largest_[i] = largest;
      const float offset = largest * base_;
      float sum = 0.0F;
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        scores.at[i][j] = fast_exp2(fmaf(scores.at[i][j], base_, -offset));
        sum += scores.at[i][j];
      }
      sums_[i] = fmaf(sums_[i], corrections[i], sum);
    }
  }

  /// Sums row i over all its columns.
  template <typename Tiles>
  __device__ float sum(const Tiles& tiles, int i) const {
    return tiles.sum_of_row(sums_[i]);
  }
  /// Returns the natural logarithm of the sum of exponentials of scaled scores.
  __device__ float lse(int i, float sum) const {
    return fmaf(largest_[i], base_, log2f(sum)) * kNaturalLogOf2;
  }

 private:
  float base_;
  float largest_[kRows];
  float sums_[kRows];
};

/// Sets scores of keys after their query to no probability.
template <typename Tiles, int kColumns>
__device__ void hide_later_keys(const Tiles& tiles, ThreadSums<Tiles::kRows, kColumns>& scores,
                                int first_query, int first_key) {
#pragma unroll
  for (int i = 0; i < Tiles::kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      if (first_key + tiles.column(j) > first_query + tiles.row(i)) scores.at[i][j] = -INFINITY;
    }
  }
}

/// A block has kBlockRows queries of one head and walks the keys up to the last of them, a tile at
/// a time. While scores are made the values are loaded, and while those are weighted the next keys:
/// either has one place in shared memory.
template <typename Tiles, int kChannels, bool kDrops, int kColumns>
class ForwardBlock {
  using Number = typename Tiles::Number;
  using Tile = SharedTile<Number, kChannels>;
  using Scores = typename Tiles::template Sums<kColumns>;
  using DropoutBits = QueryRowBits<Tiles, kColumns>;
  static constexpr int kThreads = Tiles::kThreads;
  static constexpr int kRowBytes = Tile::kRowBytes;
  static constexpr int kKeysPlace = Tiles::kBlockRows * kRowBytes;
  static constexpr int kValuesPlace = kKeysPlace + kColumns * kRowBytes;
  static constexpr int kScratchPlace = kValuesPlace + kColumns * kRowBytes;
  // Each query of a warp has one of the keys that the warp needs at all.
  static_assert(kColumns % Tiles::kWarpRows == 0, "tiles of keys begin where warps do");

 public:
  static constexpr int kBytes = kScratchPlace + Tiles::scratch_bytes(kColumns);

  __device__ ForwardBlock(const AttentionArguments<Number>& arguments, int sequence, int tile)
      : arguments_(arguments),
        head_(arguments, sequence),
        queries_(shared_memory()),
        keys_(shared_memory() + kKeysPlace),
        values_(shared_memory() + kValuesPlace),
        tiles_(shared_memory() + kScratchPlace),
        first_query_(tile * Tiles::kBlockRows),
        softmax_(arguments.scale * kLog2OfE) {
    output_.clear();
  }

  __device__ void run() {
    const int end = min(arguments_.length, first_query_ + Tiles::kBlockRows);
    queries_.template begin_load<Tiles::kBlockRows, kThreads>(head_.queries(), first_query_);
    keys_.template begin_load<kColumns, kThreads>(head_.keys(), 0);
    for (int first_key = 0; first_key < end; first_key += kColumns) {
      const bool needed = first_key < warp_query() + Tiles::kWarpRows;
      Scores scores;
      DropoutBits kept;
      if constexpr (kDrops) {
        if (needed) kept.draw(tiles_, head_.dropout(), first_query_, first_key);
      }
      if (first_key == 0) queries_.template end_load<Tiles, Tiles::kBlockRows>();
      keys_.template end_load<Tiles, kColumns>();
      __syncthreads();
      values_.template begin_load<kColumns, kThreads>(head_.values(), first_key);
      if (needed) make_probabilities(scores, kept, first_key);
      values_.template end_load<Tiles, kColumns>();
      __syncthreads();
      if (first_key + kColumns < end) {
        keys_.template begin_load<kColumns, kThreads>(head_.keys(), first_key + kColumns);
      }
      if (needed) tiles_.template add_weighted<kColumns, kChannels>(output_, scores, values_);
    }
    store();
  }

 private:
  __device__ int warp_query() const { return first_query_ + tiles_.warp_row(); }

  __device__ void make_probabilities(Scores& scores, const DropoutBits& kept, int first_key) {
    tiles_.template multiply_rows<kColumns, kChannels>(scores, queries_, keys_);
    if (first_key + kColumns - 1 > warp_query()) {
      hide_later_keys(tiles_, scores, first_query_, first_key);
    }
    float corrections[Tiles::kRows];
    softmax_.add(tiles_, scores, corrections);
#pragma unroll
    for (int i = 0; i < Tiles::kRows; ++i) {
      for (float& sum : output_.at[i]) sum *= corrections[i];
    }
    if constexpr (kDrops) {
      kept.store(tiles_, head_.mask(), first_query_, first_key);
      scores.drop(kept);
    }
  }

  __device__ void store() const {
    float factors[Tiles::kRows];
#pragma unroll
    for (int i = 0; i < Tiles::kRows; ++i) {
      const float sum = softmax_.sum(tiles_, i);
      factors[i] = (kDrops ? arguments_.dropout.mask.scale : 1.0F) / sum;
      const int query = first_query_ + tiles_.row(i);
      if (tiles_.leads_rows() && query < arguments_.length) {
        arguments_.lse[head_.first_query() + query] = softmax_.lse(i, sum);
      }
    }
    store_rows(tiles_, output_, factors, head_.output(), first_query_);
  }

  const AttentionArguments<Number>& arguments_;
  AttentionHead<Number, kChannels> head_;
  Tile queries_;
  Tile keys_;
  Tile values_;
  Tiles tiles_;
  int first_query_;
  RunningSoftmax<Tiles::kRows> softmax_;
  typename Tiles::template Sums<kChannels> output_;
};

/// Blocks with many keys come first. `kBlocks`: of a multiprocessor, at least.
template <typename Tiles, int kChannels, bool kDrops, int kColumns, int kBlocks>
__global__ void __launch_bounds__(Tiles::kThreads, kBlocks)
    attention_forward_tiles(const AttentionArguments<typename Tiles::Number> arguments) {
  const int block = static_cast<int>(blockIdx.x);
  const int last = (arguments.length - 1) / Tiles::kBlockRows;
  ForwardBlock<Tiles, kChannels, kDrops, kColumns>(arguments, block % arguments.sequences,
                                                   last - block / arguments.sequences)
      .run();
}

}  // namespace linkgain::kernels
