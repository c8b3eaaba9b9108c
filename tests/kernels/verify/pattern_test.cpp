#include "kernels/verify/pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "all_patterns.hpp"
#include "number_format.hpp"
#include "simulated_reduction.hpp"

namespace linkgain::kernels {
namespace {

void expect_floats_agree(const Pattern& pattern, const std::vector<double>& inputs,
                         double expected) {
  for (const AverageWay way : kAllAverageWays) {
    for (const double got : simulate_floats(pattern.type, pattern.reduction, inputs, way)) {
      ASSERT_TRUE(matches(got, expected, pattern.relative_error))
          << "got " << got << ", expected " << expected << ", way " << static_cast<int>(way);
      ASSERT_TRUE(matches(static_cast<float>(got), static_cast<float>(expected),
                          static_cast<float>(pattern.relative_error)) ||
                  pattern.type == ElementType::float64);
    }
    if (pattern.reduction != ReductionKind::avg) return;
  }
}

TEST(Pattern, every_order_and_way_gives_what_is_expected) {
  for_each_pattern(1, kMostRanks, [](const Pattern& pattern) {
    for_each_index(25, [&](std::int64_t index) {
      if (is_floating(pattern)) {
        expect_floats_agree(pattern, operands_at<double>(pattern, index),
                            expected_real<double>(pattern, index));
        return;
      }
      const auto wrapped = decode_integer(
          pattern.type, encode_integer(pattern.type, expected_integer(pattern, index)));
      for (const std::int64_t got : simulate_integers(pattern.type, pattern.reduction,
                                                      operands_at<std::int64_t>(pattern, index))) {
        ASSERT_EQ(got, wrapped);
      }
    });
  });
}

TEST(Pattern, the_ends_of_the_range_stay_exact) {
  for_each_pattern(1, kMostRanks, [](const Pattern& pattern) {
    if (!is_floating(pattern) || pattern.reduction == ReductionKind::prod) return;
    const double lowest = pattern.range.low;
    const double highest = lowest + pattern.range.count - 1;
    // How many ranks put in the lowest; the rest of the contributors the highest.
    for (int low_ranks = 0; low_ranks <= pattern.range.contributors; ++low_ranks) {
      std::vector<double> inputs(static_cast<std::size_t>(pattern.ranks), 0.0);
      for (int rank = 0; rank < pattern.range.contributors; ++rank) {
        const double factor = pattern.reduction == ReductionKind::mulsum ? kLargestFactor : 1;
        inputs[static_cast<std::size_t>(rank)] = factor * (rank < low_ranks ? lowest : highest);
      }
      double expected = reduce_in_sequence(
          inputs, [&](double a, double b) { return combine(pattern.reduction, a, b); });
      if (pattern.reduction == ReductionKind::avg) expected /= pattern.ranks;
      expect_floats_agree(pattern, inputs, expected);
    }
  });
}

TEST(Pattern, is_inexact_only_for_averages_that_round) {
  for_each_pattern(1, kMostRanks, [](const Pattern& pattern) {
    const bool power_of_two =
        pattern.ranks == 1 || pattern.ranks == 2 || pattern.ranks == 4 || pattern.ranks == 8;
    const bool rounds =
        is_floating(pattern) && pattern.reduction == ReductionKind::avg && !power_of_two;
    EXPECT_EQ(pattern.relative_error > 0.0, rounds);
    const double limit = pattern.type == ElementType::float64   ? 2e-15
                         : pattern.type == ElementType::float32 ? 1e-6
                                                                : 0.5;
    EXPECT_LT(pattern.relative_error, limit);
  });
}

TEST(Pattern, eight_bit_products_wrap) {
  bool seen = false;
  const Pattern pattern = make_pattern(ElementType::uint8, ReductionKind::prod, 8, kSeed);
  for_each_index(
      2000, [&](std::int64_t index) { seen = seen || expected_integer(pattern, index) == 256; });
  EXPECT_TRUE(seen);
}

TEST(Pattern, mulsum_weighs_every_other_rank_twice) {
  EXPECT_EQ(factor_of(0), 1);
  EXPECT_EQ(factor_of(1), 2);
  EXPECT_EQ(factor_of(2), 1);
  const Pattern pattern = make_pattern(ElementType::float32, ReductionKind::mulsum, 3, kSeed);
  int differs_from_sum = 0;
  for_each_index(100, [&](std::int64_t index) {
    const auto inputs = inputs_at<std::int64_t>(pattern, index);
    ASSERT_EQ(reduced_inputs(pattern, index), inputs[0] + 2 * inputs[1] + inputs[2]);
    differs_from_sum += inputs[1] == 0 ? 0 : 1;
  });
  EXPECT_GT(differs_from_sum, 290) << "of 300";
}

TEST(Pattern, integer_averages_truncate_toward_zero) {
  bool seen = false;
  const Pattern pattern = make_pattern(ElementType::int32, ReductionKind::avg, 3, kSeed);
  for_each_index(200, [&](std::int64_t index) {
    const std::int64_t sum = reduced_inputs(pattern, index);
    if (sum >= 0 || sum % 3 == 0) return;
    seen = true;
    ASSERT_EQ(expected_integer(pattern, index), -(-sum / 3));
  });
  EXPECT_TRUE(seen);
}

/// Expects two neighbours of some kind to put in the same as often as chance would have it.
void expect_independent(const Pattern& pattern, int other_rank, std::int64_t index_step,
                        std::uint32_t other_seed) {
  int same = 0;
  int compared = 0;
  for_each_index(4000, [&](std::int64_t index) {
    same += input_value(pattern.seed, 0, index, pattern.range) ==
            input_value(other_seed, other_rank, index + index_step, pattern.range);
    ++compared;
  });
  const double chance = 1.0 / pattern.range.count;
  const double deviation = std::sqrt(chance * (1.0 - chance) / compared);
  EXPECT_NEAR(static_cast<double>(same) / compared, chance, 5.0 * deviation);
}

TEST(Pattern, neighbouring_ranks_indices_and_seeds_are_independent) {
  for_each_pattern(2, kMostRanks, [](const Pattern& pattern) {
    if (pattern.range.contributors < pattern.ranks || pattern.range.count < 2) return;
    expect_independent(pattern, 1, 0, kSeed);
    expect_independent(pattern, pattern.ranks - 1, 0, kSeed);
    expect_independent(pattern, 0, 1, kSeed);
    expect_independent(pattern, 0, 4096, kSeed);
    expect_independent(pattern, 0, std::int64_t{1} << 32, kSeed);
    expect_independent(pattern, 0, 0, kSeed + 1);
    expect_independent(pattern, 1, 1, kSeed);
  });
}

TEST(Pattern, expected_results_vary) {
  for_each_pattern(2, kMostRanks, [](const Pattern& pattern) {
    std::map<std::int64_t, int> seen;
    for_each_index(1000, [&](std::int64_t index) { ++seen[reduced_inputs(pattern, index)]; });
    const auto most = std::max_element(seen.begin(), seen.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
    EXPECT_GE(seen.size(), 2u);
    EXPECT_LT(most->second, 2100) << most->first << " of 3000";
  });
}

TEST(Pattern, a_flipped_bit_is_seen_where_results_are_exact) {
  for_each_pattern(1, kMostRanks, [](const Pattern& pattern) {
    if (!is_floating(pattern) || pattern.relative_error > 0.0) return;
    for_each_index(20, [&](std::int64_t index) {
      const double expected = expected_real<double>(pattern, index);
      const std::uint64_t bits = encode_float(pattern.type, expected);
      ASSERT_EQ(decode_float(pattern.type, bits), expected);
      for (int bit = 0; bit < 8 * traits_of(pattern.type).bytes; ++bit) {
        const double got = decode_float(pattern.type, bits ^ (std::uint64_t{1} << bit));
        // Minus zero is the only other way to write a number.
        if (got == 0.0 && expected == 0.0) continue;
        ASSERT_FALSE(matches(got, expected, 0.0)) << "bit " << bit << " of " << expected;
      }
    });
  });
}

TEST(Pattern, gross_errors_are_seen_where_results_round) {
  for_each_pattern(1, kMostRanks, [](const Pattern& pattern) {
    if (pattern.relative_error == 0.0) return;
    for_each_index(50, [&](std::int64_t index) {
      const double expected = expected_real<double>(pattern, index);
      ASSERT_GT(expected, 0.0);
      const double infinity = std::numeric_limits<double>::infinity();
      for (const double got : {0.0, 2.0 * expected, -expected, expected / 2.1, infinity, -infinity,
                               std::numeric_limits<double>::quiet_NaN()}) {
        ASSERT_FALSE(matches(got, expected, pattern.relative_error)) << got << ", " << expected;
      }
    });
  });
}

void expect_no_poison(const Pattern& pattern, std::int64_t index) {
  const std::uint64_t poison = truncate(pattern.type, 0xa5a5a5a5a5a5a5a5);
  if (!is_floating(pattern)) {
    ASSERT_NE(encode_integer(pattern.type, expected_integer(pattern, index)), poison);
  } else {
    ASSERT_FALSE(matches(decode_float(pattern.type, poison), expected_real<double>(pattern, index),
                         pattern.relative_error));
  }
  for (const std::int64_t value : inputs_at<std::int64_t>(pattern, index)) {
    ASSERT_NE(decode(pattern.type, poison), static_cast<double>(value));
  }
}

TEST(Pattern, poison_is_never_right) {
  static_assert(kPoisonByte == 0xa5);
  for_each_pattern(1, 40, [](const Pattern& pattern) {
    for_each_index(60, [&](std::int64_t index) { expect_no_poison(pattern, index); });
  });
  for_each_pattern(90, 92, [](const Pattern& pattern) {
    for_each_index(60, [&](std::int64_t index) { expect_no_poison(pattern, index); });
  });
}

TEST(InputRange, keeps_to_its_limits) {
  for_each_pattern(1, 40, [](const Pattern& pattern) {
    const ElementTraits traits = traits_of(pattern.type);
    const std::int64_t limit = traits.is_integer && traits.bytes == 1 ? 10 : 1000;
    for_each_index(100, [&](std::int64_t index) {
      int factors_of_two = 0;
      for (const std::int64_t value : inputs_at<std::int64_t>(pattern, index)) {
        ASSERT_LE(std::abs(value), limit);
        ASSERT_TRUE(traits.is_signed || value >= 0);
        if (pattern.reduction == ReductionKind::prod) {
          ASSERT_TRUE(value == -1 || value == 1 || value == 2) << value;
          factors_of_two += value == 2 ? 1 : 0;
        }
        if (is_floating(pattern)) {
          ASSERT_EQ(round_to(pattern.type, static_cast<double>(value)), static_cast<double>(value));
        }
      }
      ASSERT_LE(factors_of_two, 8);
    });
  });
}

TEST(InputRange, eight_bit_sums_cannot_reach_the_poison) {
  for (const ElementType type : {ElementType::int8, ElementType::uint8}) {
    for (int ranks = 1; ranks <= 400; ++ranks) {
      for (const ReductionKind reduction :
           {ReductionKind::sum, ReductionKind::avg, ReductionKind::mulsum}) {
        const InputRange range = input_range(type, reduction, ranks);
        const auto highest = range.low + static_cast<std::int32_t>(range.count) - 1;
        const std::int32_t factor = reduction == ReductionKind::mulsum ? kLargestFactor : 1;
        ASSERT_GE(highest, 1);
        // As an int8 the poison is -91.
        ASSERT_LE(factor * range.contributors * std::max(highest, -range.low), 90) << ranks;
      }
    }
  }
}

TEST(InputRange, both_ends_of_the_range_are_drawn) {
  for_each_pattern(1, kMostRanks, [](const Pattern& pattern) {
    const InputRange& range = pattern.range;
    const auto shifted = [&](std::int64_t value) {
      return value + (range.skips_zero && value >= 0 ? 1 : 0);
    };
    const std::int64_t lowest = shifted(range.low);
    const std::int64_t highest = shifted(range.low + std::int64_t{range.count} - 1);
    std::set<std::int64_t> drawn;
    for_each_index(8192, [&](std::int64_t index) {
      drawn.insert(input_value(pattern.seed, pattern.ranks - 1, index, range));
    });
    EXPECT_LE(*drawn.begin(), lowest + (highest - lowest) / 100);
    EXPECT_GE(*drawn.rbegin(), highest - (highest - lowest) / 100);
  });
}

TEST(InputRange, other_choices_of_ranks_take_turns) {
  const Pattern pattern = make_pattern(ElementType::float8e5m2, ReductionKind::avg, 7, kSeed);
  ASSERT_EQ(pattern.range.contributors, 2);
  std::vector<int> turns(7, 0);
  for_each_index(1000, [&](std::int64_t index) {
    const std::vector<int> inputs = inputs_at<int>(pattern, index);
    ASSERT_EQ(std::count_if(inputs.begin(), inputs.end(), [](int v) { return v > 0; }), 2);
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) turns[rank] += inputs[rank] > 0;
  });
  // 3000 indices, 2 of 7 ranks each: 857 expected, standard deviation 25.
  for (const int count : turns) EXPECT_NEAR(count, 857, 150);
}

TEST(NumberFormat, agrees_with_the_compilers_own_types) {
  for (const double value : {0.0, 1.0, -1.5, 0.1, 1e-40, 3e38, -1.0 / 3.0, 16777217.0}) {
    const auto narrow = static_cast<float>(value);
    std::uint32_t narrow_bits = 0;
    std::uint64_t wide_bits = 0;
    std::memcpy(&narrow_bits, &narrow, sizeof(narrow));
    std::memcpy(&wide_bits, &value, sizeof(value));
    EXPECT_EQ(round_to(ElementType::float32, value), static_cast<double>(narrow));
    EXPECT_EQ(encode_float(ElementType::float32, static_cast<double>(narrow)), narrow_bits);
    EXPECT_EQ(encode_float(ElementType::float64, value), wide_bits);
    EXPECT_EQ(decode_float(ElementType::float64, wide_bits), value);
  }
}

TEST(NumberFormat, agrees_with_published_encodings) {
  EXPECT_EQ(encode_float(ElementType::float16, 1.0), 0x3c00u);
  EXPECT_EQ(encode_float(ElementType::float16, -2048.0), 0xe800u);
  EXPECT_EQ(encode_float(ElementType::bfloat16, 1.0), 0x3f80u);
  EXPECT_EQ(encode_float(ElementType::float8e4m3, 448.0), 0x7eu);
  EXPECT_EQ(encode_float(ElementType::float8e4m3, std::ldexp(1.0, -9)), 0x01u);
  EXPECT_EQ(encode_float(ElementType::float8e5m2, 57344.0), 0x7bu);
  EXPECT_EQ(round_to(ElementType::float8e5m2, 9.0), 8.0);
  EXPECT_EQ(round_to(ElementType::float8e4m3, 1.0 / 7.0), 9.0 / 64.0);
  EXPECT_EQ(infinity_bits(ElementType::float8e5m2), 0x7cu);
  EXPECT_EQ(infinity_bits(ElementType::float32), 0x7f800000u);
  for (const ElementType type : kAllTypes) {
    if (traits_of(type).is_integer) continue;
    EXPECT_TRUE(std::isnan(decode_float(type, format_of(type).nan_bits)));
    EXPECT_EQ(decode_float(type, encode_float(type, -6.0)), -6.0);
  }
}

}  // namespace
}  // namespace linkgain::kernels
