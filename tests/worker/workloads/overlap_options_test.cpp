#include "overlap_options.hpp"

#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

TEST(OverlapOptions, AreAllPrecisionsByDefault) {
  const auto options = parse_overlap_options({});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->precisions.size(), 3U);
  EXPECT_EQ(options->turns(10), 10);
  EXPECT_FALSE(options->has_usual_priority);
}

TEST(OverlapOptions, TakeWhatIsGiven) {
  const auto options = parse_overlap_options({"--precision", "tf32", "--strategy", "ddp", "--steps",
                                              "31", "--csv", "out.csv", "--priority", "usual"});
  ASSERT_TRUE(options);
  ASSERT_EQ(options->precisions.size(), 1U);
  EXPECT_EQ(options->precisions.front(), kernels::TrainingPrecision::tf32);
  EXPECT_EQ(options->turns(10), 4);
  EXPECT_EQ(options->csv, "out.csv");
  EXPECT_TRUE(options->has_usual_priority);
}

TEST(OverlapOptions, RefuseWhatIsNoOption) {
  EXPECT_FALSE(parse_overlap_options({"--precision", "fp64"}));
  EXPECT_FALSE(parse_overlap_options({"--strategy", "zero2"}));
  EXPECT_FALSE(parse_overlap_options({"--priority", "low"}));
  EXPECT_FALSE(parse_overlap_options({"--steps", "0"}));
  EXPECT_FALSE(parse_overlap_options({"--steps", "many"}));
  EXPECT_FALSE(parse_overlap_options({"--steps", "10x"}));
  EXPECT_FALSE(parse_overlap_options({"--csv"}));
}

}  // namespace
}  // namespace linkgain::test
