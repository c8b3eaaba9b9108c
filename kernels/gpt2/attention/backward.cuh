#pragma once

#include <cuda_runtime_api.h>

#include "kernels/gpt2/attention/arguments.cuh"

// The backward pass makes the probabilities p of a tile once more. With g = dO V^T where a
// probability is kept, times dropout's scale, and 0 elsewhere, and r the dot product of a query's
// rows of dO and O, the scores' gradients are p (g - r).

namespace linkgain::kernels {

/// row_dots: the dot products of each query's output and output gradient, by kLanes lanes of 16
/// bytes each. Turns begin.
template <typename Number, int kChannels>
__global__ void attention_row_dots(const AttentionArguments<Number> arguments) {
  constexpr int kNumbers = kCopyChunk / static_cast<int>(sizeof(Number));
  constexpr int kLanes = kChannels / kNumbers;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t rows = static_cast<std::int64_t>(arguments.sequences) * arguments.length;
  const std::int64_t row = thread / kLanes;
  if (thread <= arguments.turn_count()) arguments.turns[thread] = 0U;
  float sum = 0.0F;
  if (row < rows) {
    // Rows in the order of memory: tokens, and in them heads.
    const std::int64_t place = row * kChannels + thread % kLanes * kNumbers;
    alignas(16) Number outputs[kNumbers];
    alignas(16) Number gradients[kNumbers];
    *reinterpret_cast<uint4*>(outputs) =
        *reinterpret_cast<const uint4*>(arguments.forward_output + place);
    *reinterpret_cast<uint4*>(gradients) =
        *reinterpret_cast<const uint4*>(arguments.output_gradient + place);
#pragma unroll
    for (int i = 0; i < kNumbers; ++i) {
      sum = fmaf(static_cast<float>(outputs[i]), static_cast<float>(gradients[i]), sum);
    }
  }
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffU, sum, distance);
  }
  if (row >= rows || thread % kLanes != 0) return;
  const std::int64_t token = row / arguments.heads;
  const std::int64_t sequence = token / arguments.length * arguments.heads + row % arguments.heads;
  arguments.row_dots[sequence * arguments.length + token % arguments.length] = sum;
}

/// The queries' gradients: a block has kBlockRows queries of one head and walks their keys. While
/// the probabilities' gradients are made the keys are loaded, then the next values.
template <typename Tiles, int kChannels, bool kDrops, int kColumns>
class QueryGradientBlock {
  using Number = typename Tiles::Number;
  using Tile = SharedTile<Number, kChannels>;
  using Scores = typename Tiles::template Sums<kColumns>;
  static constexpr int kThreads = Tiles::kThreads;
  static constexpr int kRowBytes = Tile::kRowBytes;
  static constexpr int kGradientsPlace = Tiles::kBlockRows * kRowBytes;
  static constexpr int kKeysPlace = 2 * kGradientsPlace;
  static constexpr int kValuesPlace = kKeysPlace + kColumns * kRowBytes;
  static constexpr int kScratchPlace = kValuesPlace + kColumns * kRowBytes;

 public:
  static constexpr int kBytes = kScratchPlace + Tiles::scratch_bytes(kColumns);

  __device__ QueryGradientBlock(const AttentionArguments<Number>& arguments, int sequence, int tile)
      : arguments_(arguments),
        head_(arguments, sequence),
        queries_(shared_memory()),
        output_gradients_(shared_memory() + kGradientsPlace),
        keys_(shared_memory() + kKeysPlace),
        values_(shared_memory() + kValuesPlace),
        tiles_(shared_memory() + kScratchPlace),
        first_query_(tile * Tiles::kBlockRows) {
    gradient_.clear();
  }

  __device__ void run() {
    const int end = min(arguments_.length, first_query_ + Tiles::kBlockRows);
    begin();
    for (int first_key = 0; first_key < end; first_key += kColumns) {
      const bool needed = first_key < warp_query() + Tiles::kWarpRows;
      Scores gradients;
      if (first_key == 0) {
        queries_.template end_load<Tiles, Tiles::kBlockRows>();
        output_gradients_.template end_load<Tiles, Tiles::kBlockRows>();
      }
      values_.template end_load<Tiles, kColumns>();
      __syncthreads();
      keys_.template begin_load<kColumns, kThreads>(head_.keys(), first_key);
      if (needed) make_probability_gradients(gradients, first_key);
      keys_.template end_load<Tiles, kColumns>();
      __syncthreads();
      if (first_key + kColumns < end) {
        values_.template begin_load<kColumns, kThreads>(head_.values(), first_key + kColumns);
      }
      if (needed) add_score_gradients(gradients, first_key);
    }
    store_rows(tiles_, gradient_, arguments_.scale, head_.query_gradient(), first_query_);
  }

 private:
  __device__ int warp_query() const { return first_query_ + tiles_.warp_row(); }

  __device__ void begin() {
    queries_.template begin_load<Tiles::kBlockRows, kThreads>(head_.queries(), first_query_);
    output_gradients_.template begin_load<Tiles::kBlockRows, kThreads>(head_.output_gradient(),
                                                                       first_query_);
    values_.template begin_load<kColumns, kThreads>(head_.values(), 0);
#pragma unroll
    for (int i = 0; i < Tiles::kRows; ++i) {
      const int query = first_query_ + tiles_.row(i);
      const bool exists = query < arguments_.length;
      const std::int64_t place = head_.first_query() + query;
      offsets_[i] = exists ? arguments_.log_sums[place] * kLog2OfE : 0.0F;
      row_dots_[i] = exists ? arguments_.row_dots[place] : 0.0F;
    }
  }

  __device__ void make_probability_gradients(Scores& gradients, int first_key) const {
    KeptAcross<Tiles, kColumns> kept;
    if constexpr (kDrops) kept.load(tiles_, head_.mask(), first_query_, first_key);
    tiles_.template multiply_rows<kColumns, kChannels>(gradients, output_gradients_, values_);
    if constexpr (kDrops) gradients.drop(kept);
  }

  __device__ void add_score_gradients(Scores& gradients, int first_key) {
    Scores scores;
    tiles_.template multiply_rows<kColumns, kChannels>(scores, queries_, keys_);
    const float base = arguments_.scale * kLog2OfE;
    const float kept_scale = kDrops ? arguments_.dropout.mask.scale : 1.0F;
    const bool hides = first_key + kColumns - 1 > warp_query();
#pragma unroll
    for (int i = 0; i < Tiles::kRows; ++i) {
      const int keys = first_query_ + tiles_.row(i) - first_key;
#pragma unroll
      for (int j = 0; j < Scores::kColumnCount; ++j) {
        float probability = fast_exp2(fmaf(scores.at[i][j], base, -offsets_[i]));
        if (hides && tiles_.column(j) > keys) probability = 0.0F;
        float& gradient = gradients.at[i][j];
        gradient = probability * fmaf(gradient, kept_scale, -row_dots_[i]);
      }
    }
    tiles_.template add_weighted<kColumns, kChannels>(gradient_, gradients, keys_);
  }

  const AttentionArguments<Number>& arguments_;
  AttentionHead<Number, kChannels> head_;
  Tile queries_;
  Tile output_gradients_;
  Tile keys_;
  Tile values_;
  Tiles tiles_;
  int first_query_;
  float offsets_[Tiles::kRows];
  float row_dots_[Tiles::kRows];
  typename Tiles::template Sums<kChannels> gradient_;
};

/// Blocks with many keys come first. `kBlocks`: of a multiprocessor, at least.
template <typename Tiles, int kChannels, bool kDrops, int kColumns, int kBlocks>
__global__ void __launch_bounds__(Tiles::kThreads, kBlocks)
    attention_query_gradient(const AttentionArguments<typename Tiles::Number> arguments) {
  const int block = static_cast<int>(blockIdx.x);
  const int last = (arguments.length - 1) / Tiles::kBlockRows;
  QueryGradientBlock<Tiles, kChannels, kDrops, kColumns>(arguments, block % arguments.sequences,
                                                         last - block / arguments.sequences)
      .run();
}

}  // namespace linkgain::kernels
