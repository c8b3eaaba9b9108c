#include "linkgain/runtime/rank_board.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/golden.hpp"

namespace linkgain::test {
namespace {

using ::testing::IsEmpty;

/// Ranks 0 and 1, both of this process.
class RankBoards : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(own_.address(), "");
    own_.open_others({own_.address(), other_.address()}, 0);
  }

  /// What rank 0 says of rank 1 while they are at this.
  std::string missing(RankState own, RankState other) {
    own_.set(own);
    other_.set(other);
    return own_.who_is_missing() + "\n";
  }

  RankBoard own_;
  RankBoard other_;
};

TEST_F(RankBoards, TellWhoIsMissing) {
  using enum RankState;
  EXPECT_THAT(own_.who_is_missing(), IsEmpty());
  EXPECT_EQ(missing(with_ranks, with_ranks), "\n");
  EXPECT_EQ(missing(at_work, at_work), "\n") << "neither waits for the other";
  std::string text = missing(with_ranks, at_work) + missing(in_operation, at_work) +
                     missing(with_ranks, in_operation);
  own_.begins_command();
  text += missing(with_ranks, idle);
  other_.begins_command();
  other_.begins_command();
  EXPECT_EQ(missing(with_ranks, at_work), "\n") << "it is ahead";
  expect_golden(text, "missing_ranks.txt");
}

TEST_F(RankBoards, TellOfSignsOfLife) {
  EXPECT_EQ(own_.beats_of(1), 0U);
  other_.beats();
  other_.beats();
  EXPECT_EQ(own_.beats_of(1), 2U);
  EXPECT_EQ(own_.beats_of(0), std::nullopt) << "its own";
  EXPECT_EQ(own_.beats_of(2), std::nullopt) << "there is none";
}

TEST_F(RankBoards, LeaveOutWhatIsNotTheirs) {
  own_.begins_command();
  RankBoard third;
  third.begins_command();
  third.open_others({"", other_.address() + "-of-another-host", "/proc/1/fd/99999 linkgain-rank-1"},
                    0);
  EXPECT_THAT(third.who_is_missing(), IsEmpty());
}

TEST_F(RankBoards, StatesAreSetBack) {
  own_.set(RankState::at_work);
  {
    const InState state(own_, RankState::with_ranks);
    EXPECT_EQ(own_.own(), RankState::with_ranks);
  }
  EXPECT_EQ(own_.own(), RankState::at_work);
}

}  // namespace
}  // namespace linkgain::test
