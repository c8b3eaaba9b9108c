#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "all_patterns.hpp"
#include "kernels/verify/pattern.hpp"

namespace linkgain::kernels {
namespace {

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

}  // namespace
}  // namespace linkgain::kernels
