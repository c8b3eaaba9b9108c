#include "linkgain/base/glob.hpp"

#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

TEST(Glob, FitsWholeTexts) {
  EXPECT_TRUE(matches_glob("", ""));
  EXPECT_TRUE(matches_glob("all_reduce", "all_reduce"));
  EXPECT_FALSE(matches_glob("all_reduce", "all_reduce/float32"));
  EXPECT_FALSE(matches_glob("reduce", "all_reduce"));
  EXPECT_FALSE(matches_glob("", "a"));
}

TEST(Glob, TakesAnythingForAStarAndOneForAQuestionMark) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("*", "all_reduce/float32/sum/8B/np2"));
  EXPECT_TRUE(matches_glob("all_reduce/*/8B/*", "all_reduce/float32/sum/8B/np2/graph"));
  EXPECT_TRUE(matches_glob("*/np?", "all_reduce/float32/sum/8B/np2"));
  EXPECT_FALSE(matches_glob("*/np?", "all_reduce/float32/sum/8B/np16"));
  EXPECT_FALSE(matches_glob("a?c", "ac"));
}

TEST(Glob, GoesBackToTheLastStar) {
  EXPECT_TRUE(matches_glob("*ab*abc", "ababxabababc"));
  EXPECT_FALSE(matches_glob("*ab*abd", "ababxabababc"));
  EXPECT_TRUE(matches_glob("a**b", "a-b"));
}

}  // namespace
}  // namespace linkgain::test
