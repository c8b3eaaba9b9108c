#include "kernels/gpt2/token_rows.hpp"

#include <gtest/gtest.h>

#include <map>

#include "kernels/gpt2/zipf_tokens.hpp"

namespace linkgain::kernels {
namespace {

constexpr std::int32_t kUnused = -77;

class TokenList {
 public:
  explicit TokenList(const std::vector<std::int32_t>& tokens)
      : layout_{static_cast<std::int64_t>(tokens.size())},
        words_(static_cast<std::size_t>(layout_.words()) + 1, kUnused) {
    list_token_rows(tokens.data(), layout_, words_.data());
    EXPECT_EQ(words_.back(), kUnused) << "written beyond the list";
  }

  std::int32_t pieces() const { return words_[0]; }
  std::int32_t merges() const { return words_[1]; }
  TokenPiece piece(std::int32_t i) const {
    const std::int32_t* entry = at(layout_.pieces_at() + TokenRowsLayout::kEntryWords * i);
    return {entry[0], entry[1], entry[2], entry[3]};
  }
  TokenMerge merge(std::int32_t i) const {
    const std::int32_t* entry = at(layout_.merges_at() + TokenRowsLayout::kEntryWords * i);
    return {entry[0], entry[1], entry[2], entry[3]};
  }
  std::int32_t row(std::int32_t i) const { return *at(layout_.rows_at() + i); }

 private:
  const std::int32_t* at(std::int64_t word) const { return words_.data() + word; }

  TokenRowsLayout layout_;
  std::vector<std::int32_t> words_;
};

/// Expects every row in exactly one piece, of its token, and in order; pieces of allowed size;
/// those of a token with several merged, with partial sums that nobody else has.
void expect_complete(const std::vector<std::int32_t>& tokens) {
  const TokenList list(tokens);
  const TokenRowsLayout layout{static_cast<std::int64_t>(tokens.size())};
  std::map<std::int32_t, std::vector<std::int32_t>> rows;
  std::map<std::int32_t, std::vector<std::int32_t>> partials;
  for (std::int32_t i = 0; i < list.pieces(); ++i) {
    const TokenPiece piece = list.piece(i);
    ASSERT_GE(piece.count, 1);
    ASSERT_LE(piece.count, kTokenPiece);
    for (std::int32_t k = 0; k < piece.count; ++k) {
      rows[piece.token].push_back(list.row(piece.first + k));
    }
    partials[piece.token].push_back(piece.partial);
  }
  std::map<std::int32_t, std::vector<std::int32_t>> expected;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    expected[tokens[i]].push_back(static_cast<std::int32_t>(i));
  }
  EXPECT_EQ(rows, expected);
  std::int32_t merges = 0;
  std::int32_t next = 0;
  for (const auto& [token, places] : partials) {
    if (places.size() == 1) {
      EXPECT_EQ(places[0], -1);
      continue;
    }
    ASSERT_LT(merges, list.merges());
    const TokenMerge merge = list.merge(merges++);
    EXPECT_EQ(merge.token, token);
    EXPECT_EQ(merge.first, next);
    ASSERT_EQ(merge.count, static_cast<std::int32_t>(places.size()));
    for (const std::int32_t place : places) EXPECT_EQ(place, next++);
  }
  EXPECT_EQ(merges, list.merges());
  EXPECT_LE(list.pieces(), layout.rows);
  EXPECT_LE(list.merges(), layout.most_merges());
  EXPECT_LE(next, layout.most_partials());
}

TEST(TokenRows, list_every_row_once_under_its_token) {
  expect_complete({});
  expect_complete({0});
  expect_complete({50256, 0, 50256, 2047, 2048, 4096, 0});
  expect_complete(zipf_tokens(4096, 50257));
  expect_complete(zipf_tokens(999, 131));
}

TEST(TokenRows, split_only_what_is_more_than_a_piece) {
  for (const int count : {15, 16, 17, 31, 32, 33, 4096}) {
    const std::vector<std::int32_t> tokens(static_cast<std::size_t>(count), 7);
    expect_complete(tokens);
    const TokenList list(tokens);
    EXPECT_EQ(list.pieces(), (count + kTokenPiece - 1) / kTokenPiece);
    EXPECT_EQ(list.merges(), count > kTokenPiece ? 1 : 0);
  }
}

TEST(TokenRows, have_room_for_the_worst_case) {
  // As many tokens with one row more than a piece as there can be.
  std::vector<std::int32_t> tokens;
  for (int i = 0; i < 60 * (kTokenPiece + 1); ++i) tokens.push_back(i % 60);
  expect_complete(tokens);
}

TEST(TokenRows, keep_entries_aligned_to_16_bytes) {
  for (const std::int64_t rows : {0, 1, 5, 16, 4096}) {
    const TokenRowsLayout layout{rows};
    EXPECT_EQ(layout.pieces_at() % 4, 0);
    EXPECT_EQ(layout.merges_at() % 4, 0);
  }
}

TEST(TokenRows, sort_tokens_of_any_size) {
  const std::vector<std::int32_t> tokens{INT32_MAX, 1 << 22,   3,      (1 << 22) + 1,
                                         3,         INT32_MAX, 1 << 11};
  EXPECT_EQ(sorted_rows(tokens.data(), 7), (std::vector<std::int32_t>{2, 4, 6, 1, 3, 0, 5}));
}

}  // namespace
}  // namespace linkgain::kernels
