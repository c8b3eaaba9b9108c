#include "linkgain/cases/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> sizes_of(std::string_view text) {
  std::vector<std::int64_t> values;
  for (const Bytes size : parse_sizes(text)) values.push_back(size.value);
  return values;
}

TEST(ParseSizes, MultipliesUpToAndIncludingTheEnd) {
  EXPECT_THAT(sizes_of("8:512:x4"), ElementsAre(8, 32, 128, 512));
  EXPECT_THAT(sizes_of("8:1000:x4"), ElementsAre(8, 32, 128, 512, 1000));
  const auto sweep = sizes_of("8:1G:x4");
  ASSERT_EQ(sweep.size(), 15U);
  EXPECT_EQ(sweep[13], 536870912);
  EXPECT_EQ(sweep[14], 1073741824);
  EXPECT_EQ(sizes_of("8:1G:x2").size(), 28U);
}

TEST(ParseSizes, AddsUpToAndIncludingTheEnd) {
  EXPECT_THAT(sizes_of("10:40:+10"), ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(sizes_of("10:35:+10"), ElementsAre(10, 20, 30, 35));
  EXPECT_EQ(sizes_of("1M:64M:+1M").size(), 64U);
  EXPECT_THAT(sizes_of("8:8:+1"), ElementsAre(8));
  EXPECT_THAT(sizes_of("8:9:x1000"), ElementsAre(8, 9));
}

TEST(ParseSizes, JoinsListsAndSweepsAscendingWithoutRepetition) {
  EXPECT_THAT(sizes_of("1G,64K,8,65536"), ElementsAre(8, 65536, 1073741824));
  EXPECT_THAT(sizes_of("1K,8:32:x2,16,1:3:+1"), ElementsAre(1, 2, 3, 8, 16, 32, 1024));
}

TEST(ParseSizes, ReachesTheLargestCountWithoutOverflow) {
  EXPECT_THAT(sizes_of("35184372088833:64T:x2"), ElementsAre(35184372088833, 70368744177664));
  EXPECT_THAT(sizes_of("70368744177663:64T:+64T"), ElementsAre(70368744177663, 70368744177664));
  EXPECT_THAT(sizes_of("1:2:x9223372036854775807"), ElementsAre(1, 2));
}

TEST(ParseSizes, RefusesOtherTextWithTheAcceptedForms) {
  Situations answers;
  answers.refuse_each({"1G:8:x4",
                       "8:1G:x1",
                       "8:1G:x0",
                       "8:1G:x-2",
                       "8:1G:x1.5",
                       "8:1G:x",
                       "8:1G:x99999999999999999999",
                       "8:1G:+0",
                       "8:1G:4",
                       "",
                       "8:1G",
                       "8:1G:x4:x2",
                       "8,,16",
                       "8,",
                       "0",
                       "-8",
                       "8:1Q:x2",
                       "1:10001:+1",
                       "1:5000:+1,5001:10001:+1",
                       "1:64T:+1"},
                      parse_sizes);
  answers.expect_golden("sizes_refused.txt");
}

TEST(ParseSizes, TakesAsManySizesAsTheLimit) {
  EXPECT_EQ(sizes_of("1:10000:+1").size(), 10000U);
  EXPECT_EQ(sizes_of("1:10000:+1,1:10000:+1").size(), 10000U) << "repetitions do not count";
}

}  // namespace
}  // namespace linkgain::test
