#pragma once

#include <cuda_runtime_api.h>

#include "kernels/gpt2/attention/arguments.cuh"

namespace linkgain::kernels {

/// The keys' and the values' gradients: a block has kBlockRows keys of one head and walks the
/// queries from the first of them on, with everything transposed: rows are keys, columns queries.
/// The output gradients are loaded while scores are made, the next queries while the values'
/// gradients are summed.
template <typename Tiles, int kChannels, bool kDrops, int kColumns>
class KeyGradientBlock {
 protected:
  using Number = typename Tiles::Number;
  using Tile = SharedTile<Number, kChannels>;
  using Scores = typename Tiles::template Sums<kColumns>;
  using Kept = KeptDown<Tiles, kColumns>;
  static constexpr int kThreads = Tiles::kThreads;
  static constexpr int kRowBytes = Tile::kRowBytes;
  static constexpr int kValuesPlace = Tiles::kBlockRows * kRowBytes;
  static constexpr int kQueriesPlace = 2 * kValuesPlace;
  static constexpr int kGradientsPlace = kQueriesPlace + kColumns * kRowBytes;
  static constexpr int kLogSumsPlace = kGradientsPlace + kColumns * kRowBytes;
  static constexpr int kRowDotsPlace = kLogSumsPlace + kColumns * static_cast<int>(sizeof(float));
  static constexpr int kScratchPlace = kRowDotsPlace + kColumns * static_cast<int>(sizeof(float));

 public:
  static constexpr int kBytes = kScratchPlace + Tiles::scratch_bytes(kColumns);

  __device__ KeyGradientBlock(const AttentionArguments<Number>& arguments, int sequence, int tile)
      : arguments_(arguments),
        head_(arguments, sequence),
        keys_(shared_memory()),
        values_(shared_memory() + kValuesPlace),
        queries_(shared_memory() + kQueriesPlace),
        output_gradients_(shared_memory() + kGradientsPlace),
        log_sums_(reinterpret_cast<float*>(shared_memory() + kLogSumsPlace)),
        row_dots_(reinterpret_cast<float*>(shared_memory() + kRowDotsPlace)),
        tiles_(shared_memory() + kScratchPlace),
        first_key_(tile * Tiles::kBlockRows) {
    key_gradient_.clear();
    value_gradient_.clear();
  }

  __device__ void run() {
    begin_keys();
    const int first = first_key_ / kColumns * kColumns;
    begin_queries(first);
    end_keys();
    for (int first_query = first; first_query < arguments_.length; first_query += kColumns) {
      walk(first_query);
    }
    store();
  }

 protected:
  __device__ int warp_key() const { return first_key_ + tiles_.warp_row(); }

  __device__ void begin_keys() const {
    keys_.template begin_load<Tiles::kBlockRows, kThreads>(head_.keys(), first_key_);
    values_.template begin_load<Tiles::kBlockRows, kThreads>(head_.values(), first_key_);
  }

  __device__ void end_keys() const {
    keys_.template end_load<Tiles, Tiles::kBlockRows>();
    values_.template end_load<Tiles, Tiles::kBlockRows>();
  }

  __device__ void begin_output_gradients(int first_query) const {
    output_gradients_.template begin_load<kColumns, kThreads>(head_.output_gradient(), first_query);
  }

  __device__ void begin_queries(int first_query) const {
    queries_.template begin_load<kColumns, kThreads>(head_.queries(), first_query);
    const int column = static_cast<int>(threadIdx.x);
    if (column >= kColumns) return;
    const bool exists = first_query + column < arguments_.length;
    const std::int64_t place = head_.first_query() + (exists ? first_query + column : 0);
    begin_copy(log_sums_ + column, arguments_.log_sums + place, exists);
    begin_copy(row_dots_ + column, arguments_.row_dots + place, exists);
  }

  /// One tile of queries, which are on their way.
  __device__ void walk(int first_query) {
    const bool needed = first_query + kColumns > warp_key();
    Kept kept;
    if constexpr (kDrops) {
      if (needed) kept.load(tiles_, head_.mask(), first_query, first_key_);
    }
    Scores probabilities;
    Scores gradients;
    queries_.template end_load<Tiles, kColumns>();
    __syncthreads();
    begin_output_gradients(first_query);
    if (needed) make_probabilities(probabilities, first_query);
    output_gradients_.template end_load<Tiles, kColumns>();
    __syncthreads();
    if (needed) {
      make_score_gradients(gradients, probabilities, kept);
      tiles_.template add_weighted<kColumns, kChannels>(key_gradient_, gradients, queries_);
    }
    __syncthreads();
    if (first_query + kColumns < arguments_.length) begin_queries(first_query + kColumns);
    if (needed) {
      tiles_.template add_weighted<kColumns, kChannels>(value_gradient_, probabilities,
                                                        output_gradients_);
    }
  }

  __device__ void make_probabilities(Scores& scores, int first_query) const {
    tiles_.template multiply_rows<kColumns, kChannels>(scores, keys_, queries_);
    const float base = arguments_.scale * kLog2OfE;
    const bool hides = warp_key() + Tiles::kWarpRows - 1 > first_query;
#pragma unroll
    for (int j = 0; j < Scores::kColumnCount; ++j) {
      const int column = tiles_.column(j);
      const float offset = log_sums_[column] * kLog2OfE;
#pragma unroll
      for (int i = 0; i < Tiles::kRows; ++i) {
        float& score = scores.at[i][j];
        score = fast_exp2(fmaf(score, base, -offset));
        if (hides && first_key_ + tiles_.row(i) > first_query + column) score = 0.0F;
      }
    }
  }

  /// The scores' gradients; probabilities become what is left of them.
  __device__ void make_score_gradients(Scores& gradients, Scores& probabilities, Kept& kept) const {
    tiles_.template multiply_rows<kColumns, kChannels>(gradients, values_, output_gradients_);
    if constexpr (kDrops) {
      kept.turn(tiles_);
      gradients.drop(kept);
      finish_score_gradients(gradients, probabilities);
      probabilities.drop(kept);
    } else {
      finish_score_gradients(gradients, probabilities);
    }
  }

  __device__ void store() const {
    const float kept_scale = kDrops ? arguments_.dropout.mask.scale : 1.0F;
    store_rows(tiles_, key_gradient_, arguments_.scale, head_.key_gradient(), first_key_);
    store_rows(tiles_, value_gradient_, kept_scale, head_.value_gradient(), first_key_);
  }

  __device__ void finish_score_gradients(Scores& gradients, const Scores& probabilities) const {
    const float kept_scale = kDrops ? arguments_.dropout.mask.scale : 1.0F;
#pragma unroll
    for (int j = 0; j < Scores::kColumnCount; ++j) {
      const float row_dot = row_dots_[tiles_.column(j)];
#pragma unroll
      for (int i = 0; i < Tiles::kRows; ++i) {
        float& gradient = gradients.at[i][j];
        gradient = probabilities.at[i][j] * fmaf(gradient, kept_scale, -row_dot);
      }
    }
  }

  const AttentionArguments<Number>& arguments_;
  AttentionHead<Number, kChannels> head_;
  Tile keys_;
  Tile values_;
  Tile queries_;
  Tile output_gradients_;
  float* log_sums_;
  float* row_dots_;
  Tiles tiles_;
  int first_key_;
  typename Tiles::template Sums<kChannels> key_gradient_;
  typename Tiles::template Sums<kChannels> value_gradient_;
};

/// Blocks with many queries come first. `kBlocks`: of a multiprocessor, at least.
template <typename Tiles, int kChannels, bool kDrops, int kColumns, int kBlocks>
__global__ void __launch_bounds__(Tiles::kThreads, kBlocks)
    attention_key_gradients(const AttentionArguments<typename Tiles::Number> arguments) {
  const int block = static_cast<int>(blockIdx.x);
  KeyGradientBlock<Tiles, kChannels, kDrops, kColumns>(arguments, block % arguments.sequences,
                                                       block / arguments.sequences)
      .run();
}

}  // namespace linkgain::kernels
