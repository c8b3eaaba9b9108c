#include "linkgain/statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace linkgain::test {
namespace {

using Values = std::vector<double>;

TEST(Median, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median(Values{7}), 7.0);
  EXPECT_EQ(median(Values{9, 1, 5}), 5.0);
  EXPECT_EQ(median(Values{9, 1, 5, 2}), 3.5);
  EXPECT_THROW(median(Values{}), std::invalid_argument);
}

TEST(Quartiles, LieBetweenNeighbours) {
  const Quartiles of_five = quartiles(Values{5, 1, 4, 2, 3});
  EXPECT_EQ(of_five.low, 2.0);
  EXPECT_EQ(of_five.high, 4.0);
  const Quartiles of_four = quartiles(Values{4, 1, 2, 3});
  EXPECT_EQ(of_four.low, 1.75);
  EXPECT_EQ(of_four.high, 3.25);
  EXPECT_EQ(quartiles(Values{7}).low, 7.0);
  EXPECT_EQ(quartiles(Values{7}).high, 7.0);
  EXPECT_THROW(quartiles(Values{}), std::invalid_argument);
}

}  // namespace
}  // namespace linkgain::test
