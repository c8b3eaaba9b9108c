#pragma once

#include <cuda_runtime_api.h>

#include "kernels/gpt2/attention/backward_keys.cuh"

namespace linkgain::kernels {

/// In which order blocks of keys add to the gradients of one head's queries. A tile's counter says
/// how many have; a block of a later turn waits until those before have added to it.
class QueryTurns {
 public:
  __device__ QueryTurns(unsigned* counters, int turn) : counters_(counters), turn_(turn) {}

  __device__ bool is_first() const { return turn_ == 0; }
  /// One thread calls it, before it meets those that load at a barrier.
  __device__ void await(int tile) const {
    const volatile unsigned* counter = counters_ + tile;
    while (*counter != static_cast<unsigned>(turn_)) {
    }
    __threadfence();
  }
  /// One thread calls it, after it met those that have stored at a barrier.
  __device__ void pass(int tile) const {
    __threadfence();
    *static_cast<volatile unsigned*>(counters_ + tile) = static_cast<unsigned>(turn_) + 1U;
  }

 private:
  unsigned* counters_;
  int turn_;
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
  static constexpr int kAwaiting = 32;  ///< the thread that waits; thread 0 passes the turn on
  static_assert(kColumns == kTurnQueries, "a counter has a tile");

 public:
  __device__ GradientsBlock(const AttentionArguments<Number>& arguments, int sequence, int tile)
      : Base(arguments, sequence, tile),
        turns_(arguments.turns + static_cast<std::int64_t>(sequence) *
                                     ((arguments.length - 1) / kTurnQueries + 1),
               tile) {}

  __device__ void run() {
    this->begin_keys();
    const int last = (this->arguments_.length - 1) / kColumns * kColumns;
    this->begin_queries(last);
    this->end_keys();
    for (int first_query = last; first_query >= this->first_key_; first_query -= kColumns) {
      walk(first_query, first_query < last);
    }
    __syncthreads();
    if (threadIdx.x == 0) turns_.pass(this->first_key_ / kColumns);
    this->store();
  }

 private:
  /// One tile of queries, which are on their way.
  __device__ void walk(int first_query, bool passes) {
    const bool needed = first_query + kColumns > this->warp_key();
    typename Base::Kept kept;
    if constexpr (kDrops) {
      if (needed) kept.load(this->tiles_, this->head_.mask(), first_query, this->first_key_);
    }
    Scores probabilities;
    Scores gradients;
    this->queries_.template end_load<Tiles, kColumns>();
    __syncthreads();
    if (passes && threadIdx.x == 0) turns_.pass(first_query / kColumns + 1);
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
    if (threadIdx.x == kAwaiting) turns_.await(first_query / kColumns);
    __syncthreads();
    if (first_query > this->first_key_) this->begin_queries(first_query - kColumns);
    add_query_gradients(first_query);
  }

  /// From the scores' gradients of all warps, which the keys' gradients left in scratch.
  __device__ void add_query_gradients(int first_query) const {
    const int keys = min(Tiles::kBlockRows, first_query + kColumns - this->first_key_);
    const HeadRows<Number> to = this->head_.query_gradient();
    const int query = first_query + this->tiles_.turned_row();
    const int channel = this->tiles_.turned_column();
    float4 before[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      before[i] = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
      if (turns_.is_first() || query + i >= to.rows) continue;
      before[i] = __ldcg(reinterpret_cast<const float4*>(to.at(query + i) + channel));
    }
    ThreadSums<4, 4> sums;
    sums.clear();
    this->tiles_.template add_turned<kColumns, kChannels>(sums, this->keys_, keys);
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

  QueryTurns turns_;
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
