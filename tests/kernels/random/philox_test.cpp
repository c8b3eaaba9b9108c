#include "kernels/random/philox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "kernels/random/model_random.hpp"

namespace linkgain::kernels {
namespace {

struct KnownAnswer {
  RandomWords counter;
  RandomKey key;
  RandomWords result;
};

/// The known answers that Random123, the authors' code, is published with (philox4x32, 10 rounds).
constexpr std::array kKnownAnswers{
    KnownAnswer{{{0, 0, 0, 0}}, {{0, 0}}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
    KnownAnswer{{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
                {{0xffffffff, 0xffffffff}},
                {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
    KnownAnswer{{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
                {{0xa4093822, 0x299f31d0}},
                {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}};

TEST(Philox, gives_the_published_answers) {
  for (const KnownAnswer& known : kKnownAnswers) {
    const RandomWords result = philox(known.counter, known.key);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(result.word[i], known.result.word[i]) << i;
  }
}

TEST(RandomSequence, is_another_one_for_every_part_of_its_name) {
  const std::array sequences{RandomSequence{1, 1, 1, 1},
                             RandomSequence{2, 1, 1, 1},
                             RandomSequence{std::uint64_t{1} << 32, 1, 1, 1},
                             RandomSequence{1, 2, 1, 1},
                             RandomSequence{1, 1, 2, 1},
                             RandomSequence{1, 1, 1, 2}};
  std::set<std::uint32_t> words;
  for (const RandomSequence& sequence : sequences) {
    for (const std::uint64_t element : {0U, 1U, 2U, 3U, 4U}) {
      words.insert(random_word(sequence, element));
    }
    // Elements beyond 2^34, whose block needs more than one word of the counter.
    words.insert(random_word(sequence, std::uint64_t{5} << 34));
  }
  EXPECT_EQ(words.size(), sequences.size() * 6);
}

TEST(PortableLog, is_the_logarithm) {
  for (int i = 1; i < 4000; ++i) {
    const double value = i / 1000.0;
    const double exact = std::log(value);
    EXPECT_NEAR(portable_log(value), exact, 5e-16 * std::abs(exact)) << value;
  }
  EXPECT_NEAR(portable_log(0x1p-33), std::log(0x1p-33), 5e-15);
  EXPECT_EQ(portable_log(1.0), 0.0);
}

TEST(CirclePoint, goes_round_the_circle) {
  constexpr double kTurn = 6.283185307179586;
  for (std::uint64_t i = 0; i < 4096; ++i) {
    const auto word = static_cast<std::uint32_t>(i << 20 | (i * 977 & 0xFFFFF));
    const CirclePoint point = circle_point(word);
    const double angle = (word / 4294967296.0 - 0.125) * kTurn;
    EXPECT_NEAR(point.x, std::cos(angle), 1e-15) << word;
    EXPECT_NEAR(point.y, std::sin(angle), 1e-15) << word;
  }
}

TEST(RandomNormal, has_the_moments_and_tails_of_a_normal) {
  constexpr int kCount = 400'000;
  const RandomSequence sequence{7, 1, 3, 0};
  std::array<double, 5> moments{};
  double neighbours = 0.0;
  double last = 0.0;
  int beyond_two = 0;
  int beyond_three = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double value = random_normal(sequence, i);
    double power = 1.0;
    for (double& moment : moments) moment += power / kCount, power *= value;
    neighbours += value * last / kCount;
    last = value;
    beyond_two += std::abs(value) > 2.0 ? 1 : 0;
    beyond_three += std::abs(value) > 3.0 ? 1 : 0;
  }
  // Within four standard errors.
  const double error = 4.0 / std::sqrt(static_cast<double>(kCount));
  EXPECT_NEAR(moments[1], 0.0, error);
  EXPECT_NEAR(moments[2], 1.0, error * std::sqrt(2.0));
  EXPECT_NEAR(moments[3], 0.0, error * std::sqrt(15.0));
  EXPECT_NEAR(moments[4], 3.0, error * std::sqrt(96.0));
  EXPECT_NEAR(neighbours, 0.0, error);
  EXPECT_NEAR(beyond_two / static_cast<double>(kCount), 0.04550, error * 0.2084);
  EXPECT_NEAR(beyond_three / static_cast<double>(kCount), 0.002700, error * 0.0519);
}

TEST(InitialWeight, has_its_mean_and_deviation) {
  double sum = 0.0;
  double squares = 0.0;
  constexpr int kCount = 40'000;
  for (int i = 0; i < kCount; ++i) {
    const double value = initial_weight(1, 5, i, {0.5, 0.02});
    sum += value;
    squares += (value - 0.5) * (value - 0.5);
  }
  EXPECT_NEAR(sum / kCount, 0.5, 4 * 0.02 / 200);
  EXPECT_NEAR(std::sqrt(squares / kCount), 0.02, 4 * 0.02 / 283);
  EXPECT_EQ(initial_weight(1, 5, 17, {1.0, 0.0}), 1.0F);
  EXPECT_NE(initial_weight(1, 5, 17, {0.0, 1.0}), initial_weight(1, 6, 17, {0.0, 1.0}));
  EXPECT_NE(initial_weight(1, 5, 17, {0.0, 1.0}), initial_weight(2, 5, 17, {0.0, 1.0}));
}

TEST(DropoutMask, drops_with_its_probability_and_keeps_the_mean) {
  constexpr int kCount = 100'000;
  for (const double probability : {0.1, 0.5, 0.9}) {
    const DropoutMask mask = dropout_mask(3, 0, 4, probability);
    int dropped = 0;
    for (int i = 0; i < kCount; ++i) dropped += is_kept(mask, i) ? 0 : 1;
    const double error = 4 * std::sqrt(probability * (1 - probability) / kCount);
    EXPECT_NEAR(dropped / static_cast<double>(kCount), probability, error);
    EXPECT_FLOAT_EQ(mask.scale * static_cast<float>(1.0 - probability), 1.0F);
  }
}

TEST(DropoutMask, drops_nothing_at_zero) {
  const DropoutMask mask = dropout_mask(3, 0, 4, 0.0);
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(is_kept(mask, i));
  EXPECT_EQ(mask.scale, 1.0F);
}

TEST(DropoutMask, differs_between_steps_and_places) {
  const DropoutMask mask = dropout_mask(3, 0, 4, 0.5);
  for (const DropoutMask& other :
       {dropout_mask(3, 1, 4, 0.5), dropout_mask(3, 0, 5, 0.5), dropout_mask(4, 0, 4, 0.5)}) {
    int equal = 0;
    for (int i = 0; i < 10'000; ++i) equal += is_kept(mask, i) == is_kept(other, i) ? 1 : 0;
    EXPECT_NEAR(equal, 5000, 200);
  }
}

TEST(DropoutPlaces, are_numbered_without_gaps) {
  EXPECT_EQ(kEmbeddingDropout, 0);
  for (int block = 0; block < 12; ++block) {
    EXPECT_EQ(probability_dropout(block), block == 0 ? 1 : feed_forward_dropout(block - 1) + 1);
    EXPECT_EQ(attention_dropout(block), probability_dropout(block) + 1);
    EXPECT_EQ(feed_forward_dropout(block), attention_dropout(block) + 1);
  }
  EXPECT_EQ(feed_forward_dropout(11), 36);
}

TEST(HashContribution, sees_value_and_place) {
  std::set<std::uint64_t> seen;
  for (std::int64_t index = 0; index < 64; ++index) {
    for (std::uint64_t bit = 0; bit < 64; ++bit) {
      seen.insert(hash_contribution(index, std::uint64_t{1} << bit));
    }
  }
  EXPECT_EQ(seen.size(), 64U * 64U);
  // Swapped values are seen.
  EXPECT_NE(hash_contribution(0, 5) + hash_contribution(1, 6),
            hash_contribution(0, 6) + hash_contribution(1, 5));
}

}  // namespace
}  // namespace linkgain::kernels
