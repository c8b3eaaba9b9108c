#include "linkgain/model/tokens.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"
#include "support/token_file.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kVocabulary = 131;

/// A token file of its own, removed at the end.
class TokenFileTest : public ::testing::Test {
 protected:
  ~TokenFileTest() override { std::filesystem::remove(path_); }

  void write(const TokenFileHeader& header, const std::vector<std::uint16_t>& tokens) const {
    write_token_file(path_, header, tokens);
  }

  /// Tokens 0, 1, 2, …
  static std::vector<std::uint16_t> counting(int count) {
    std::vector<std::uint16_t> tokens(static_cast<std::size_t>(count));
    std::iota(tokens.begin(), tokens.end(), std::uint16_t{0});
    return tokens;
  }

  /// What reading the file is refused with, and the advice.
  std::string refusal() const {
    const std::string refusal =
        refusal_of<UsageError>([&] { read_token_file(path_, kVocabulary); });
    return with_replaced(refusal, path_, "FILE");
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("linkgain_tokens." + std::to_string(getpid())))
          .string();
};

std::vector<std::int32_t> sequence(const TokenSource& source, std::int64_t number, int length) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(length) + 1);
  source.read_sequence(number, tokens);
  return tokens;
}

TEST_F(TokenFileTest, IsCutIntoSequencesThatShareTheirEnds) {
  write({20240520, 1, 10}, counting(10));
  const auto source = read_token_file(path_, kVocabulary);
  EXPECT_THAT(sequence(*source, 0, 4), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(sequence(*source, 1, 4), ElementsAre(4, 5, 6, 7, 8));
  // The third would need token 12: the text begins anew.
  EXPECT_THAT(sequence(*source, 2, 4), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(sequence(*source, 7, 9), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(source->description(), HasSubstr("10 tokens"));
  EXPECT_THROW(sequence(*source, 0, 10), UsageError);
}

TEST_F(TokenFileTest, IsRefusedWithAReason) {
  Situations situations;
  const auto add = [&](const std::string& situation) { situations.add(situation, refusal()); };
  add("no file");
  std::ofstream(path_) << "some text";
  add("a text of 9 bytes");
  const auto add_file = [&](const std::string& situation, const TokenFileHeader& header,
                            int tokens) {
    write(header, counting(tokens));
    add(situation);
  };
  add_file("the first number is 1", {1, 1, 10}, 10);
  add_file("version 2", {20240520, 2, 10}, 10);
  add_file("11 tokens in the header, 10 in the file", {20240520, 1, 11}, 10);
  add_file("9 tokens in the header, 10 in the file", {20240520, 1, 9}, 10);
  add_file("-5 tokens in the header", {20240520, 1, -5}, 10);
  add_file("one token", {20240520, 1, 1}, 1);
  add_file("a token of 131 where the vocabulary has 131", {20240520, 1, 140}, 140);
  expect_golden(situations.text(), "refused_token_files.txt");
}

TEST_F(TokenFileTest, IsNoFolder) { EXPECT_THROW(read_token_file("/", kVocabulary), UsageError); }

TEST(GeneratedTokens, FollowZipfsLaw) {
  const auto source = generated_tokens(kVocabulary, 3);
  constexpr int kCount = 100'000;
  std::vector<int> counts(kVocabulary, 0);
  for (const std::int32_t token : sequence(*source, 0, kCount - 1)) {
    ASSERT_GE(token, 0);
    ASSERT_LT(token, kVocabulary);
    ++counts[static_cast<std::size_t>(token)];
  }
  double harmonic = 0.0;
  for (int k = 1; k <= kVocabulary; ++k) harmonic += 1.0 / k;
  for (const int k : {1, 2, 10, 131}) {
    const double expected = kCount / (k * harmonic);
    EXPECT_NEAR(counts[static_cast<std::size_t>(k) - 1], expected, 5 * std::sqrt(expected)) << k;
  }
}

TEST(GeneratedTokens, AreAFunctionOfSeedAndPlace) {
  const auto source = generated_tokens(kVocabulary, 3);
  EXPECT_EQ(sequence(*source, 5, 32), sequence(*generated_tokens(kVocabulary, 3), 5, 32));
  EXPECT_NE(sequence(*source, 5, 32), sequence(*generated_tokens(kVocabulary, 4), 5, 32));
  EXPECT_NE(sequence(*source, 5, 32), sequence(*source, 6, 32));
  // One text: a sequence goes on where the one before ended.
  EXPECT_EQ(sequence(*source, 5, 32).back(), sequence(*source, 6, 32).front());
  EXPECT_EQ(sequence(*source, 0, 64)[32], sequence(*source, 1, 32)[0]);
}

std::vector<std::int32_t> batch(const TokenSource& source, const BatchPlace& place,
                                const BatchShape& shape) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(shape.samples * (shape.length + 1)));
  read_batch(source, place, shape, tokens);
  return tokens;
}

TEST(ReadBatch, GivesRanksTogetherWhatOneRankWouldHave) {
  const auto source = generated_tokens(kVocabulary, 3);
  for (const std::int64_t step : {0, 1, 17}) {
    const auto whole = batch(*source, {step, 0, 1}, {8, 16});
    std::vector<std::int32_t> together;
    for (int rank = 0; rank < 4; ++rank) {
      const auto part = batch(*source, {step, rank, 4}, {2, 16});
      together.insert(together.end(), part.begin(), part.end());
    }
    EXPECT_EQ(together, whole) << step;
  }
  EXPECT_NE(batch(*source, {0, 0, 1}, {8, 16}), batch(*source, {1, 0, 1}, {8, 16}));
}

}  // namespace
}  // namespace linkgain::test
