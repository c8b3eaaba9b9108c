#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "linkgain/gpu/matrix_product.hpp"

namespace linkgain::test {
namespace {

using namespace gpu;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::size_t choice_of(const std::vector<double>& times) {
  std::vector<ProductCandidate> candidates;
  for (const double time : times) candidates.push_back({"", {time}});
  return choose_candidate(candidates);
}

TEST(ProductChoice, StaysWithTheFirstUnlessAnotherIsWorthIt) {
  EXPECT_EQ(choice_of({1.0}), 0U);
  EXPECT_EQ(choice_of({1.0, 0.98, 0.975}), 0U);
  EXPECT_EQ(choice_of({1.0, 0.97}), 0U);
  EXPECT_EQ(choice_of({1.0, 0.98, 0.96}), 2U);
}

TEST(ProductChoice, TakesTheFastestOfThoseThatAre) {
  EXPECT_EQ(choice_of({1.0, 0.9, 0.8, 0.85}), 2U);
  EXPECT_EQ(choice_of({1.0, 0.5, 0.9, 0.5}), 1U);
}

TEST(ProductChoice, LeavesOutWhatWasNotTimed) {
  EXPECT_EQ(choice_of({0.0, 0.0}), 0U);
  EXPECT_EQ(choice_of({0.0, 0.5}), 0U);
  EXPECT_EQ(choice_of({1.0, 0.0, 0.5}), 2U);
  EXPECT_EQ(choice_of({}), 0U);
}

TEST(ProductChoice, DescribesShapes) {
  const std::string plain = description(ProductShape{.rows = 4, .columns = 5, .inner = 6});
  EXPECT_THAT(plain,
              AllOf(HasSubstr("4 x 5 x 6"), Not(HasSubstr("transposed")), Not(HasSubstr("bias"))));
  EXPECT_THAT(description(ProductShape{.rows = 4,
                                       .columns = 5,
                                       .inner = 6,
                                       .left_transposed = true,
                                       .right_transposed = true,
                                       .has_bias = true}),
              AllOf(StartsWith(plain), HasSubstr("left transposed"), HasSubstr("right transposed"),
                    HasSubstr("bias")));
}

}  // namespace
}  // namespace linkgain::test
