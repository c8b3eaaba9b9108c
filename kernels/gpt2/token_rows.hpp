#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace linkgain::kernels {

/// A token's rows are summed by pieces of at most this many, so that a frequent one takes hardly
/// longer than a rare one.
inline constexpr std::int32_t kTokenPiece = 16;

/// Rows of the same token, summed by one block: rows[first] … rows[first + count - 1].
struct TokenPiece {
  std::int32_t token;
  std::int32_t first;
  std::int32_t count;
  std::int32_t partial;  ///< where the sum is kept if the token has several pieces, else -1
};

/// A token of several pieces, whose sums are partial first … first + count - 1.
struct TokenMerge {
  std::int32_t token;
  std::int32_t first;
  std::int32_t count;
  std::int32_t unused;
};

/// A list of which rows each token of a batch stands in, in one piece of memory that is made on the
/// host and copied to the device as it is. Its size follows from the number of rows alone, so that
/// the same launches (a captured graph's, too) serve every batch. In 32-bit words:
///   pieces, merges, 0, 0 (how many) | TokenPiece × rows | TokenMerge × rows / kTokenPiece | rows
struct TokenRowsLayout {
  std::int64_t rows;

  static constexpr std::int64_t kHeaderWords = 4;
  static constexpr std::int64_t kEntryWords = 4;

  constexpr std::int64_t most_merges() const { return rows / kTokenPiece; }
  /// Returns a token with several pieces has at least kTokenPiece + 1 rows, so fewer than twice as
  /// many pieces as its rows fill.
  constexpr std::int64_t most_partials() const { return 2 * most_merges(); }
  constexpr std::int64_t pieces_at() const { return kHeaderWords; }
  constexpr std::int64_t merges_at() const { return pieces_at() + kEntryWords * rows; }
  constexpr std::int64_t rows_at() const { return merges_at() + kEntryWords * most_merges(); }
  constexpr std::int64_t words() const { return rows_at() + rows; }
};

/// Returns the numbers of `tokens`, none of them negative, sorted by token, equal ones as they
/// stood: by radix, as a step must not wait for its list.
inline std::vector<std::int32_t> sorted_rows(const std::int32_t* tokens, std::int64_t rows) {
  constexpr unsigned kDigit = 11;
  constexpr std::size_t kBuckets = std::size_t{1} << kDigit;
  std::vector<std::int32_t> order(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  std::vector<std::int32_t> next(order.size());
  const std::int32_t largest = rows == 0 ? 0 : *std::max_element(tokens, tokens + rows);
  for (unsigned shift = 0; shift < 32 && largest >> shift != 0; shift += kDigit) {
    const auto bucket_of = [&](std::int32_t row) {
      return static_cast<std::size_t>(tokens[row] >> shift) % kBuckets;
    };
    std::array<std::size_t, kBuckets + 1> begins{};
    for (const std::int32_t row : order) ++begins[bucket_of(row) + 1];
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) begins[bucket + 1] += begins[bucket];
    for (const std::int32_t row : order) next[begins[bucket_of(row)]++] = row;
    order.swap(next);
  }
  return order;
}

/// Writes the list for tokens[0] … tokens[layout.rows - 1], none of them negative, into `list`
/// (layout.words() words of any host memory). Tokens come in order, a token's rows too. Words that
/// are not needed are left as they were.
inline void list_token_rows(const std::int32_t* tokens, const TokenRowsLayout& layout,
                            std::int32_t* list) {
  const std::vector<std::int32_t> order = sorted_rows(tokens, layout.rows);
  std::copy(order.begin(), order.end(), list + layout.rows_at());
  const auto write = [&](std::int64_t at, std::array<std::int32_t, 4> entry) {
    std::copy(entry.begin(), entry.end(), list + at);
  };
  std::int32_t pieces = 0;
  std::int32_t merges = 0;
  std::int32_t partials = 0;
  const auto rows = static_cast<std::int32_t>(layout.rows);
  for (std::int32_t begin = 0, end = 0; begin < rows; begin = end) {
    const std::int32_t token = tokens[order[static_cast<std::size_t>(begin)]];
    while (end < rows && tokens[order[static_cast<std::size_t>(end)]] == token) ++end;
    const bool is_split = end - begin > kTokenPiece;
    const std::int32_t first_partial = partials;
    for (std::int32_t first = begin; first < end; first += kTokenPiece) {
      const std::int32_t count = std::min(kTokenPiece, end - first);
      write(layout.pieces_at() + TokenRowsLayout::kEntryWords * pieces++,
            {token, first, count, is_split ? partials++ : -1});
    }
    if (is_split) {
      write(layout.merges_at() + TokenRowsLayout::kEntryWords * merges++,
            {token, first_partial, partials - first_partial, 0});
    }
  }
  write(0, {pieces, merges, 0, 0});
}

}  // namespace linkgain::kernels
