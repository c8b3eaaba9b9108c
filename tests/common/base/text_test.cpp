#include "linkgain/base/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::array<std::string_view, 3> kNames{"all_reduce", "send_recv", "min"};

TEST(NearestName, FindsTheCandidateWithFewestEdits) {
  EXPECT_EQ(nearest_name("all_reduc", kNames), "all_reduce");
  EXPECT_EQ(nearest_name("sendrecv", kNames), "send_recv");
  EXPECT_EQ(nearest_name("mean", kNames), "min");
  EXPECT_EQ(nearest_name("send_recv", kNames), "send_recv");
}

TEST(NearestName, CountsASwapOfNeighboursAsOneEdit) {
  // As two substitutions "bacd" would be no nearer than "cabd", and the first would win.
  constexpr std::array<std::string_view, 2> swapped{"cabd", "bacd"};
  EXPECT_EQ(nearest_name("abcd", swapped), "bacd");
}

TEST(NearestName, TakesTheFirstOfEquallyNear) {
  constexpr std::array<std::string_view, 2> names{"int8", "int4"};
  EXPECT_EQ(nearest_name("int6", names), "int8");
}

TEST(NearestName, IsAbsentBeyondTwoEditsOrHalfTheName) {
  EXPECT_EQ(nearest_name("al_reduc", kNames), "all_reduce");
  EXPECT_EQ(nearest_name("al_rduc", kNames), "") << "three edits";
  constexpr std::array<std::string_view, 2> variants{"shared-memory", "tcp"};
  EXPECT_EQ(nearest_name("tpc", variants), "tcp");
  EXPECT_EQ(nearest_name("p2p", variants), "") << "two of three characters";
}

TEST(NearestName, HandlesEmptyTextAndNoCandidates) {
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name("x", {}), "");
}

TEST(UnknownName, NamesTheNearestAndAllOthers) {
  constexpr std::array<std::string_view, 2> names{"all_reduce", "send_recv"};
  Situations answers;
  answers.add("operation all_reduc of two", unknown_name("operation", "all_reduc", names));
  answers.add("operation everything of two", unknown_name("operation", "everything", names));
  answers.add("variant p2p of none", unknown_name("variant", "p2p", {}));
  answers.expect_golden("unknown_names.txt");
}

TEST(Split, KeepsEmptyPartsButGivesNoneForEmptyText) {
  EXPECT_THAT(split("a,b", ','), ElementsAre("a", "b"));
  EXPECT_THAT(split(",a,,", ','), ElementsAre("", "a", "", ""));
  EXPECT_THAT(split("a", ','), ElementsAre("a"));
  EXPECT_THAT(split("", ','), IsEmpty());
}

TEST(FirstNamed, CountsTheRest) {
  const std::vector<std::string> names{"a", "b", "c", "d"};
  EXPECT_EQ(first_named(names, 4), "a, b, c, d");
  EXPECT_EQ(first_named(names), "a, b, c and 1 more");
  EXPECT_EQ(first_named(names, 2, "; "), "a; b and 2 more");
  EXPECT_EQ(first_named({}), "");
}

}  // namespace
}  // namespace linkgain::test
