#pragma once

#include <cuda_runtime_api.h>

#include "kernels/common/wait.cuh"
#include "kernels/gpt2/attention/arguments.cuh"

// The backward pass makes the probabilities p of a tile once more. With g = dO V^T where a
// probability is kept, times dropout's scale, and 0 elsewhere, and r the dot product of a query's
// rows of dO and O, the scores' gradients are p (g - r).
//
// By two kernels, one for the queries' gradients and one for those of keys and values; or by one
// for all, in which blocks of keys add to the queries' gradients in order.

namespace linkgain::kernels {

/// Computes delta: the dot products of each query's output and output gradient, by kLanes lanes of
/// 16 bytes each. Additions begin at 0.
template <typename Number, int kChannels>
__global__ void attention_delta(const AttentionArguments<Number> arguments) {
  constexpr int kNumbers = kCopyChunk / static_cast<int>(sizeof(Number));
  constexpr int kLanes = kChannels / kNumbers;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t rows = static_cast<std::int64_t>(arguments.sequences) * arguments.length;
  const std::int64_t row = thread / kLanes;
  if (thread <= arguments.addition_count()) arguments.additions[thread] = 0U;
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
  arguments.delta[sequence * arguments.length + token % arguments.length] = sum;
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
      offsets_[i] = exists ? arguments_.lse[place] * kLog2OfE : 0.0F;
      delta_[i] = exists ? arguments_.delta[place] : 0.0F;
    }
  }

  __device__ void make_probability_gradients(Scores& gradients, int first_key) const {
    QueryRowBits<Tiles, kColumns> kept;
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
        gradient = probability * fmaf(gradient, kept_scale, -delta_[i]);
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
  float delta_[Tiles::kRows];
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
  using DropoutBits = KeyRowBits<Tiles, kColumns>;
  static constexpr int kThreads = Tiles::kThreads;
  static constexpr int kRowBytes = Tile::kRowBytes;
  static constexpr int kValuesPlace = Tiles::kBlockRows * kRowBytes;
  static constexpr int kQueriesPlace = 2 * kValuesPlace;
  static constexpr int kGradientsPlace = kQueriesPlace + kColumns * kRowBytes;
  static constexpr int kLsePlace = kGradientsPlace + kColumns * kRowBytes;
  static constexpr int kDeltaPlace = kLsePlace + kColumns * static_cast<int>(sizeof(float));
  static constexpr int kScratchPlace = kDeltaPlace + kColumns * static_cast<int>(sizeof(float));

 public:
  static constexpr int kBytes = kScratchPlace + Tiles::scratch_bytes(kColumns);

  __device__ KeyGradientBlock(const AttentionArguments<Number>& arguments, int sequence, int tile)
      : arguments_(arguments),
        head_(arguments, sequence),
        keys_(shared_memory()),
        values_(shared_memory() + kValuesPlace),
        queries_(shared_memory() + kQueriesPlace),
        output_gradients_(shared_memory() + kGradientsPlace),
        lse_(reinterpret_cast<float*>(shared_memory() + kLsePlace)),
        delta_(reinterpret_cast<float*>(shared_memory() + kDeltaPlace)),
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
    begin_copy(lse_ + column, arguments_.lse + place, exists);
    begin_copy(delta_ + column, arguments_.delta + place, exists);
  }

  /// Walks over one tile of queries, which are on their way.
  __device__ void walk(int first_query) {
    const bool needed = first_query + kColumns > warp_key();
    DropoutBits kept;
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
      const float offset = lse_[column] * kLog2OfE;
#pragma unroll
      for (int i = 0; i < Tiles::kRows; ++i) {
        float& score = scores.at[i][j];
        score = fast_exp2(fmaf(score, base, -offset));
        if (hides && first_key_ + tiles_.row(i) > first_query + column) score = 0.0F;
      }
    }
  }

  /// Computes the scores' gradients; probabilities become what is left of them.
  __device__ void make_score_gradients(Scores& gradients, Scores& probabilities,
                                       DropoutBits& kept) const {
    tiles_.template multiply_rows<kColumns, kChannels>(gradients, values_, output_gradients_);
    if constexpr (kDrops) {
      kept.transpose(tiles_);
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
      const float delta = delta_[tiles_.column(j)];
#pragma unroll
      for (int i = 0; i < Tiles::kRows; ++i) {
        float& gradient = gradients.at[i][j];
        gradient = probabilities.at[i][j] * fmaf(gradient, kept_scale, -delta);
      }
    }
  }

  const AttentionArguments<Number>& arguments_;
  AttentionHead<Number, kChannels> head_;
  Tile keys_;
  Tile values_;
  Tile queries_;
  Tile output_gradients_;
  float* lse_;
  float* delta_;
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

/// In which order blocks of keys add to the gradients of one head's queries. A tile's counter says
/// how many have; a block of a later place waits until those before have added to it.
class OrderedAccumulation {
 public:
  /// Orders additions; `bound` must outlive it.
  __device__ OrderedAccumulation(unsigned* counters, int place, const WaitBound& bound)
      : counters_(counters), place_(place), bound_(bound) {}

  __device__ bool is_first() const { return place_ == 0; }
  /// Waits for a tile's turn: one thread calls it, before it meets those that load at a barrier.
  __device__ void await(int tile) const {
    wait_for_turn(counters_ + tile, static_cast<unsigned>(place_), bound_);
    __threadfence();
  }
  /// Passes the turn on: one thread calls it, after it met those that have stored at a barrier.
  __device__ void pass(int tile) const {
    __threadfence();
    *static_cast<volatile unsigned*>(counters_ + tile) = static_cast<unsigned>(place_) + 1U;
  }

 private:
  unsigned* counters_;
  int place_;
  const WaitBound& bound_;
};

/// All gradients at once: to what KeyGradientBlock does comes the queries' gradient, to which the
/// blocks of keys of a head add in turn, in the order of keys, so that its bits are always the
/// same. Queries are walked from the last ones, which all these blocks have in common; who starts
/// with the others then waits for no more than what they store.
template <typename Tiles, int kChannels, bool kDrops, int kColumns>
class GradientsBlock : public KeyGradientBlock<Tiles, kChannels, kDrops, kColumns> {
  using Base = KeyGradientBlock<Tiles, kChannels, kDrops, kColumns>;
  using typename Base::Number;
  using typename Base::Scores;
  static constexpr int kAwaiting = 32;  ///< the thread that waits; thread 0 passes it on
  static_assert(kColumns == kOrderedQueries, "a counter has a tile");

 public:
  __device__ GradientsBlock(const AttentionArguments<Number>& arguments, int sequence, int tile)
      : Base(arguments, sequence, tile),
        order_(arguments.additions + static_cast<std::int64_t>(sequence) *
                                         ((arguments.length - 1) / kOrderedQueries + 1),
               tile, arguments.bound) {}

  __device__ void run() {
    this->begin_keys();
    const int last = (this->arguments_.length - 1) / kColumns * kColumns;
    this->begin_queries(last);
    this->end_keys();
    for (int first_query = last; first_query >= this->first_key_; first_query -= kColumns) {
      walk(first_query, first_query < last);
    }
    __syncthreads();
    if (threadIdx.x == 0) order_.pass(this->first_key_ / kColumns);
    this->store();
  }

 private:
  /// Walks over one tile of queries, which are on their way.
  __device__ void walk(int first_query, bool passes) {
    const bool needed = first_query + kColumns > this->warp_key();
    typename Base::DropoutBits kept;
    if constexpr (kDrops) {
      if (needed) kept.load(this->tiles_, this->head_.mask(), first_query, this->first_key_);
    }
    Scores probabilities;
    Scores gradients;
    this->queries_.template end_load<Tiles, kColumns>();
    __syncthreads();
    if (passes && threadIdx.x == 0) order_.pass(first_query / kColumns + 1);
    this->begin_output_gradients(first_query);
    if (needed) this->make_probabilities(probabilities, first_query);
    this->output_gradients_.template end_load<Tiles, kColumns>();
    __syncthreads();
    if (needed) {
      this->make_score_gradients(gradients, probabilities, kept);
      this->tiles_.template add_weighted<kColumns, kChannels>(this->value_gradient_, probabilities,
                                                              this->output_gradients_);
      this->tiles_.template add_weighted<kColumns, kChannels>(this->key_gradient_, gradients,
                                                              this->queries_);
    }
    if (threadIdx.x == kAwaiting) order_.await(first_query / kColumns);
    __syncthreads();
    if (first_query > this->first_key_) this->begin_queries(first_query - kColumns);
    add_query_gradients(first_query);
  }

  /// Adds from the scores' gradients of all warps, which the keys' gradients left in scratch.
  __device__ void add_query_gradients(int first_query) const {
    const int keys = min(Tiles::kBlockRows, first_query + kColumns - this->first_key_);
    const HeadRows<Number> to = this->head_.query_gradient();
    const int query = first_query + this->tiles_.transposed_row();
    const int channel = this->tiles_.transposed_column();
    float4 before[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      before[i] = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
      if (order_.is_first() || query + i >= to.rows) continue;
      before[i] = __ldcg(reinterpret_cast<const float4*>(to.at(query + i) + channel));
    }
    ThreadSums<4, 4> sums;
    sums.clear();
    this->tiles_.template add_transposed<kColumns, kChannels>(sums, this->keys_, keys);
    const float scale = this->arguments_.scale;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (query + i >= to.rows) continue;
      const float(&sum)[4] = sums.at[i];
      __stcg(reinterpret_cast<float4*>(to.at(query + i) + channel),
             make_float4(fmaf(sum[0], scale, before[i].x), fmaf(sum[1], scale, before[i].y),
                         fmaf(sum[2], scale, before[i].z), fmaf(sum[3], scale, before[i].w)));
    }
  }

  OrderedAccumulation order_;
};

/// Blocks take numbers as they start, so that whom a block waits for has started before. Those with
/// many queries come first. `kBlocks`: of a multiprocessor, at least.
template <typename Tiles, int kChannels, bool kDrops, int kColumns, int kBlocks>
__global__ void __launch_bounds__(Tiles::kThreads, kBlocks)
    attention_gradients(const AttentionArguments<typename Tiles::Number> arguments) {
  __shared__ int number;
  if (threadIdx.x == 0) number = static_cast<int>(atomicAdd(arguments.started(), 1U));
  __syncthreads();
  const int block = number;
  GradientsBlock<Tiles, kChannels, kDrops, kColumns>(arguments, block % arguments.sequences,
                                                     block / arguments.sequences)
      .run();
}

}  // namespace linkgain::kernels
