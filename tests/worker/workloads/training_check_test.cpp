#include "training_check.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace linkgain {
namespace {

using testing::IsEmpty;

TEST(ProblemOfGradients, NamesWhoseTheyAreAndBothHashes) {
  EXPECT_THAT(problem_of_gradients(1, 0xabc, 0xabc), IsEmpty());
  EXPECT_EQ(problem_of_gradients(1, 0xabc, 0xabd),
            "gradients of rank 1 alone came out of communication with hash abc instead of abd");
}

TEST(ProblemOfParameters, TakesWhatMostRanksHaveAsRight) {
  const std::vector<std::uint64_t> hashes{0x7, 0x5, 0x5, 0x5};
  EXPECT_EQ(problem_of_parameters(hashes, 0),
            "parameters after a step have hash 7, those of ranks 1, 2, 3 have 5");
  for (const int rank : {1, 2, 3}) EXPECT_THAT(problem_of_parameters(hashes, rank), IsEmpty());
}

TEST(ProblemOfParameters, TakesTheLowestRanksAsRightWhereNoMoreAgree) {
  EXPECT_THAT(problem_of_parameters(std::vector<std::uint64_t>{9, 4}, 0), IsEmpty());
  EXPECT_EQ(problem_of_parameters(std::vector<std::uint64_t>{9, 4}, 1),
            "parameters after a step have hash 4, those of rank 0 have 9");
  const std::vector<std::uint64_t> halves{4, 9, 9, 4};
  EXPECT_THAT(problem_of_parameters(halves, 3), IsEmpty());
  EXPECT_EQ(problem_of_parameters(halves, 2),
            "parameters after a step have hash 9, those of ranks 0, 3 have 4");
}

}  // namespace
}  // namespace linkgain
