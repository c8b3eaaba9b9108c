#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/gpt2/attention/dropout.cuh"
#include "kernels/gpt2/attention/tile.cuh"

// What the kernels of attention are given, and what a block makes of it.

namespace linkgain::kernels {

inline constexpr float kLog2OfE = 1.4426950408889634F;
inline constexpr float kNaturalLogOf2 = 0.6931471805599453F;

/// Those that a kernel does not need are null.
template <typename Number>
struct AttentionArguments {
  int length;
  int heads;
  int sequences;  ///< heads of all samples
  float scale;    ///< of scores
  const Number* qkv;
  const Number* forward_output;
  const Number* output_gradient;
  Number* output;
  Number* qkv_gradient;
  float* log_sums;
  float* row_dots;
  unsigned* turns;  ///< a counter per head and tile of queries, then started()
  std::uint32_t* kept;
  AttentionDropout dropout;
  bool by_fours;

  /// Counters of turns.
  __host__ __device__ std::int64_t turn_count() const {
    return std::int64_t{sequences} * ((length - 1) / kTurnQueries + 1);
  }
  /// How many blocks have.
  __device__ unsigned* started() const { return turns + turn_count(); }
};

/// One head of one sample.
template <typename Number, int kChannels>
class AttentionHead {
 public:
  __device__ AttentionHead(const AttentionArguments<Number>& arguments, int sequence)
      : arguments_(arguments),
        sequence_(sequence),
        channels_(static_cast<std::int64_t>(arguments.heads) * kChannels),
        row_(static_cast<std::int64_t>(sequence / arguments.heads) * arguments.length),
        channel_(sequence % arguments.heads * kChannels) {}

  __device__ HeadRows<const Number> queries() const { return input(0); }
  __device__ HeadRows<const Number> keys() const { return input(1); }
  __device__ HeadRows<const Number> values() const { return input(2); }
  __device__ HeadRows<const Number> forward_output() const {
    return result(arguments_.forward_output);
  }
  __device__ HeadRows<const Number> output_gradient() const {
    return result(arguments_.output_gradient);
  }
  __device__ HeadRows<Number> output() const { return result(arguments_.output); }
  __device__ HeadRows<Number> query_gradient() const { return gradient(0); }
  __device__ HeadRows<Number> key_gradient() const { return gradient(1); }
  __device__ HeadRows<Number> value_gradient() const { return gradient(2); }

  /// Of a number per query.
  __device__ std::int64_t first_query() const {
    return static_cast<std::int64_t>(sequence_) * arguments_.length;
  }
  __device__ HeadDropout dropout() const {
    return {arguments_.dropout.mask.sequence, arguments_.dropout.mask.threshold,
            arguments_.dropout.first_element + first_query() * arguments_.length, arguments_.length,
            arguments_.by_fours};
  }
  __device__ HeadMask mask() const { return {arguments_.kept, sequence_, arguments_.length}; }

 private:
  __device__ HeadRows<const Number> input(int part) const {
    return {arguments_.qkv + row_ * 3 * channels_ + part * channels_ + channel_, 3 * channels_,
            arguments_.length};
  }
  __device__ HeadRows<Number> gradient(int part) const {
    return {arguments_.qkv_gradient + row_ * 3 * channels_ + part * channels_ + channel_,
            3 * channels_, arguments_.length};
  }
  template <typename Any>
  __device__ HeadRows<Any> result(Any* first) const {
    return {first + row_ * channels_ + channel_, channels_, arguments_.length};
  }

  const AttentionArguments<Number>& arguments_;
  int sequence_;
  std::int64_t channels_;
  std::int64_t row_;
  int channel_;
};

/// Stores a thread's sums, times what stands in `factors` for each row, from row `first` of `to`
/// on.
template <typename Tiles, int kSums, typename Number>
__device__ void store_rows(const Tiles& tiles, const ThreadSums<Tiles::kRows, kSums>& sums,
                           const float (&factors)[Tiles::kRows], const HeadRows<Number>& to,
                           int first) {
#pragma unroll
  for (int i = 0; i < Tiles::kRows; ++i) {
    const int row = first + tiles.row(i);
    if (row >= to.rows) continue;
#pragma unroll
    for (int j = 0; j < kSums; j += 2) {
      store_numbers(to.at(row) + tiles.output_column(j), sums.at[i][j] * factors[i],
                    sums.at[i][j + 1] * factors[i]);
    }
  }
}

template <typename Tiles, int kSums, typename Number>
__device__ void store_rows(const Tiles& tiles, const ThreadSums<Tiles::kRows, kSums>& sums,
                           float factor, const HeadRows<Number>& to, int first) {
  float factors[Tiles::kRows];
#pragma unroll
  for (int i = 0; i < Tiles::kRows; ++i) factors[i] = factor;
  store_rows(tiles, sums, factors, to, first);
}

}  // namespace linkgain::kernels
