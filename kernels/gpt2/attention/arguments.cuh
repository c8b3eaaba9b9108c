#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/wait_report.hpp"
#include "kernels/gpt2/attention/attention.hpp"
#include "kernels/gpt2/attention/tiles.cuh"
#include "kernels/random/philox.hpp"

// What the kernels of attention are given, and what a block makes of it: a head's rows, and which
// of its probabilities dropout keeps.

namespace linkgain::kernels {

// Which probabilities of a tile are kept. The forward pass draws the words and stores a bit for
// each probability, which the backward pass loads. Of a square of kMaskSide queries and as many
// keys a lane has 32 bits: one word, lanes side by side, those of the rows and columns that are
// its own when rows are queries. When they are keys two shuffles bring a lane its bits.

/// One head's part of the random sequence.
struct HeadDropout {
  RandomSequence sequence;
  std::uint32_t threshold;
  std::int64_t first;  ///< element of query 0 and key 0
  int length;
  bool by_fours;  ///< whether every query's first element is a multiple of 4

  __device__ std::uint64_t element(int query, int key) const {
    return static_cast<std::uint64_t>(first + static_cast<std::int64_t>(query) * length + key);
  }
  __device__ bool kept(int query, int key) const {
    const std::uint64_t number = element(query, key);
    const RandomWords words = device_random_block(sequence, number / kWordsPerBlock);
    // No index that the compiler does not know: it would put the words into memory.
    const std::uint32_t low = number % 2 == 0 ? words.word[0] : words.word[1];
    const std::uint32_t high = number % 2 == 0 ? words.word[2] : words.word[3];
    return (number % 4 < 2 ? low : high) >= threshold;
  }
  /// Returns the words of four neighbouring keys, by `by_fours`; `key` is a multiple of 4.
  __device__ RandomWords four(int query, int key) const {
    return device_random_block(sequence, element(query, key) / kWordsPerBlock);
  }
};

/// One head's squares of the mask: of each row of squares those up to the diagonal.
class HeadMask {
 public:
  __device__ HeadMask(std::uint32_t* dropout_bits, int sequence, int length) : length_(length) {
    const std::int64_t rows = (length - 1) / kMaskSide + 1;
    words_ = dropout_bits + sequence * (rows * (rows + 1) / 2) * kMaskSide;
  }

  /// Returns whether there is a square with this query and this key.
  __device__ bool has(int query, int key) const {
    return query < length_ && key / kMaskSide <= query / kMaskSide;
  }
  /// Returns where this lane's word of it is.
  __device__ std::uint32_t* word(int query, int key) const {
    const std::int64_t row = query / kMaskSide;
    return words_ + (row * (row + 1) / 2 + key / kMaskSide) * kMaskSide + threadIdx.x % 32;
  }

 private:
  std::uint32_t* words_;
  int length_;
};

__device__ inline std::uint32_t from_lane(std::uint32_t value, int lane) {
  return __shfl_sync(0xffffffffU, value, lane);
}

/// Draws a lane's words of kSquares neighbouring squares, whose first query and key are given: of
/// their queries those that the warp has, in the lower bits. Squares after the diagonal stay 0.
template <typename Tiles, int kSquares>
struct DrawnSquares;

/// Lanes 2u and 2u + 1 share the fours of two rows: the one draws the upper row's, the other the
/// lower's. Each keeps the pairs of its own columns and hands over the others.
template <typename Cores, int kWarps, int kRowTiles>
struct DrawnSquares<TensorTiles<Cores, kWarps, kRowTiles>, 2> {
  using Tiles = TensorTiles<Cores, kWarps, kRowTiles>;
  static_assert(kRowTiles == 2, "a warp has the rows of a square");

  static __device__ void draw(const Tiles& tiles, const HeadDropout& head, int first_query,
                              int first_key, std::uint32_t (&words)[2]) {
    const int odd = static_cast<int>(threadIdx.x) & 1;
    const int key = first_key + (static_cast<int>(threadIdx.x) & 2) * 2;
    const int last_query = first_query + tiles.warp_row() + Tiles::kWarpRows - 1;
    std::uint32_t left = 0;   // a four's first two
    std::uint32_t right = 0;  // and its last two
#pragma unroll
    for (int square = 0; square < 2; ++square) {
      if (first_key + square * kMaskSide > last_query) break;
#pragma unroll
      for (int call = 0; call < 8; ++call) {
        const int query = first_query + tiles.row(call / 4 * 2) + odd * 8;
        const RandomWords four = head.four(query, key + square * kMaskSide + call % 4 * 8);
        const int bit = square * 16 + call * 2;
        if (four.word[0] >= head.threshold) left |= 1U << bit;
        if (four.word[1] >= head.threshold) left |= 2U << bit;
        if (four.word[2] >= head.threshold) right |= 1U << bit;
        if (four.word[3] >= head.threshold) right |= 2U << bit;
      }
    }
    const std::uint32_t own = odd != 0 ? right : left;
    const std::uint32_t other = from_lane(odd != 0 ? left : right, threadIdx.x % 32 ^ 1);
    const std::uint32_t upper = odd != 0 ? other : own;
    const std::uint32_t lower = odd != 0 ? own : other;
    words[0] = __byte_perm(upper, lower, 0x5140);
    words[1] = __byte_perm(upper, lower, 0x7362);
  }
};

/// Four neighbouring lane columns share the fours of all their rows and draw every fourth row's.
template <int kWarps, int kThreadRows, int kSquares>
struct DrawnSquares<StrictTiles<kWarps, kThreadRows>, kSquares> {
  using Tiles = StrictTiles<kWarps, kThreadRows>;

  static __device__ void draw(const Tiles& tiles, const HeadDropout& head, int first_query,
                              int first_key, std::uint32_t (&words)[kSquares]) {
    const int place = tiles.lane_column() & 3;  // among the four's keys
    const int key = first_key + tiles.lane_column() - place;
    const int last_query = first_query + tiles.warp_row() + Tiles::kWarpRows - 1;
#pragma unroll
    for (int square = 0; square < kSquares; ++square) {
      words[square] = 0;
      if (first_key + square * kMaskSide > last_query) continue;
      std::uint32_t mine = 0;
#pragma unroll
      for (int call = 0; call < kThreadRows; ++call) {
        const int query = first_query + tiles.row(call / 4 * 4) + place * 4;
        const RandomWords four = head.four(query, key + square * kMaskSide + call % 4 * 8);
#pragma unroll
        for (int i = 0; i < kWordsPerBlock; ++i) {
          if (four.word[i] >= head.threshold) mine |= 1U << (call * 4 + i);
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int lane = Tiles::lane_at(tiles.lane_row(), tiles.lane_column() - place + i);
        words[square] |= (from_lane(mine, lane) >> place & 0x11111111U) << i;
      }
    }
  }
};

/// Bits of a tile whose rows are queries. kept(i, j) is of the thread's row i and column j. A warp
/// has the rows of one square or half of them, which are then in the lower half of its words.
template <typename Tiles, int kColumns>
class QueryRowBits {
  static constexpr int kSquares = kColumns / kMaskSide;
  static constexpr int kSquareColumns = Tiles::template Sums<kMaskSide>::kColumnCount;
  static constexpr bool kHalf = Tiles::kWarpRows * 2 == kMaskSide;
  static_assert(kHalf || Tiles::kWarpRows == kMaskSide, "a word has a warp's rows");
  static_assert(kColumns % kMaskSide == 0, "tiles are whole squares");

 public:
  __device__ bool operator()(int i, int j) const {
    return (words_[j / kSquareColumns] >> Tiles::bit_of(i, j % kSquareColumns) & 1U) != 0U;
  }

  __device__ void draw(const Tiles& tiles, const HeadDropout& head, int first_query,
                       int first_key) {
    if (head.by_fours) {
      DrawnSquares<Tiles, kSquares>::draw(tiles, head, first_query, first_key, words_);
    } else {
      draw_each(tiles, head, first_query, first_key);
    }
  }

  __device__ void store(const Tiles& tiles, const HeadMask& mask, int first_query,
                        int first_key) const {
    const int query = first_query + tiles.warp_row();
#pragma unroll
    for (int square = 0; square < kSquares; ++square) {
      const int key = first_key + square * kMaskSide;
      if (!mask.has(query, key)) continue;
      if constexpr (kHalf) {
        auto* halves = reinterpret_cast<std::uint16_t*>(mask.word(query, key));
        halves[query / Tiles::kWarpRows % 2] = static_cast<std::uint16_t>(words_[square]);
      } else {
        *mask.word(query, key) = words_[square];
      }
    }
  }

  __device__ void load(const Tiles& tiles, const HeadMask& mask, int first_query, int first_key) {
    const int query = first_query + tiles.warp_row();
    const int shift = kHalf ? query / Tiles::kWarpRows % 2 * 16 : 0;
#pragma unroll
    for (int square = 0; square < kSquares; ++square) {
      const int key = first_key + square * kMaskSide;
      words_[square] = mask.has(query, key) ? __ldg(mask.word(query, key)) >> shift : 0U;
    }
  }

 private:
  __device__ void draw_each(const Tiles& tiles, const HeadDropout& head, int first_query,
                            int first_key) {
#pragma unroll
    for (int square = 0; square < kSquares; ++square) {
      words_[square] = 0;
#pragma unroll 1
      for (int element = 0; element < Tiles::kRows * kSquareColumns; ++element) {
        const int i = element / kSquareColumns;
        const int j = element % kSquareColumns;
        const int key = first_key + square * kMaskSide + tiles.column(j);
        if (head.kept(first_query + tiles.row(i), key)) {
          words_[square] |= 1U << Tiles::bit_of(i, j);
        }
      }
    }
  }

  std::uint32_t words_[kSquares];
};

/// Bits of a tile whose rows are keys. First load(), then transpose(), which a whole warp calls.
template <typename Tiles, int kColumns>
class KeyRowBits;

template <typename Tiles, int kColumns>
class MaskSquares {
 protected:
  static constexpr int kSquares = kColumns / kMaskSide;
  static_assert(kMaskSide % Tiles::kWarpRows == 0, "a warp's rows are of one square");
  static_assert(kColumns % kMaskSide == 0, "tiles are whole squares");

 public:
  __device__ void load(const Tiles& tiles, const HeadMask& mask, int first_query, int first_key) {
    const int key = first_key + tiles.warp_row();
#pragma unroll
    for (int square = 0; square < kSquares; ++square) {
      const int query = first_query + square * kMaskSide;
      loaded_[square] = mask.has(query, key) ? __ldg(mask.word(query, key)) : 0U;
    }
  }

 protected:
  std::uint32_t loaded_[kSquares];
};

/// The bits of a lane's even and odd columns come from one lane each.
template <typename Cores, int kWarps, int kRowTiles, int kColumns>
class KeyRowBits<TensorTiles<Cores, kWarps, kRowTiles>, kColumns>
    : public MaskSquares<TensorTiles<Cores, kWarps, kRowTiles>, kColumns> {
  using Tiles = TensorTiles<Cores, kWarps, kRowTiles>;
  using Squares = MaskSquares<Tiles, kColumns>;

 public:
  __device__ void transpose(const Tiles& tiles) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int shift = lane / 4 % 2 + tiles.warp_row() % kMaskSide / 8 * 2;
#pragma unroll
    for (int square = 0; square < Squares::kSquares; ++square) {
#pragma unroll
      for (int column = 0; column < 2; ++column) {
        const int from = (lane % 4 * 2 + column) * 4 + lane / 8;
        words_[square][column] = from_lane(this->loaded_[square], from) >> shift;
      }
    }
  }
  __device__ bool operator()(int i, int j) const {
    return (words_[j / 8][j % 2] >> (j % 8 / 2 * 8 + i * 2) & 1U) != 0U;
  }

 private:
  std::uint32_t words_[Squares::kSquares][2];
};

/// The bits of a lane's even and odd rows come from one lane each.
template <int kWarps, int kThreadRows, int kColumns>
class KeyRowBits<StrictTiles<kWarps, kThreadRows>, kColumns>
    : public MaskSquares<StrictTiles<kWarps, kThreadRows>, kColumns> {
  using Tiles = StrictTiles<kWarps, kThreadRows>;
  using Squares = MaskSquares<Tiles, kColumns>;

 public:
  __device__ void transpose(const Tiles& tiles) {
    const int query = tiles.lane_column();
    const int shift = query / 4 + tiles.warp_row() % kMaskSide / 8 * 4;
#pragma unroll
    for (int square = 0; square < Squares::kSquares; ++square) {
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        const int from = Tiles::lane_at(query % 4, row * 4 + tiles.lane_row());
        words_[square][row] = from_lane(this->loaded_[square], from) >> shift;
      }
    }
  }
  __device__ bool operator()(int i, int j) const {
    return (words_[j / 4][i % 2] >> (j % 4 / 2 * 16 + i / 2 * 4 + j % 2 * 2) & 1U) != 0U;
  }

 private:
  std::uint32_t words_[Squares::kSquares][2];
};

// What the kernels of attention are given, and what a block makes of it.

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
  float* lse;
  float* delta;
  unsigned* additions;  ///< a counter per head and tile of queries, then started()
  std::uint32_t* dropout_bits;
  AttentionDropout dropout;
  WaitBound bound;  ///< of a block's wait for those that add before it
  bool by_fours;

  /// Returns counters of additions.
  __host__ __device__ std::int64_t addition_count() const {
    return std::int64_t{sequences} * ((length - 1) / kOrderedQueries + 1);
  }
  /// Counts the blocks that have started.
  __device__ unsigned* started() const { return additions + addition_count(); }
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

  /// Returns the place of the first query in an array of a number per query.
  __device__ std::int64_t first_query() const {
    return static_cast<std::int64_t>(sequence_) * arguments_.length;
  }
  __device__ HeadDropout dropout() const {
    return {arguments_.dropout.mask.sequence, arguments_.dropout.mask.threshold,
            arguments_.dropout.first_element + first_query() * arguments_.length, arguments_.length,
            arguments_.by_fours};
  }
  __device__ HeadMask mask() const {
    return {arguments_.dropout_bits, sequence_, arguments_.length};
  }

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
