// What is judged of what, for every command: they differ in the tolerance and in what faster and
// slower claim.
#include "linkgain/analysis/judgement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

constexpr double kLaunches = 8;

/// So much slower, as a share, by eight launches a side; half the interval's width is `half`, and
/// Student's t of 14 degrees of freedom 2.144787.
LaunchShift shift_of(double slower, double half) {
  const LaunchDeviation deviation{half / 2.144787 / std::sqrt(2.0 / kLaunches), 7};
  LaunchShift shift{.log = std::log1p(slower), .before = 8, .after = 8};
  shift.parts = {{.deviation = deviation, .before = 1.0}, {.deviation = deviation, .after = 1.0}};
  return shift;
}

constexpr Tolerance kAnyChange{0.0, 0.0};
constexpr Tolerance kCompare{-0.0196, 0.02};
constexpr Tolerance kCheck{-0.05, 0.05};

struct Row {
  std::string what;
  double slower;
  double half;
  Verdict run;      ///< and exec: any change
  Verdict compare;  ///< a change of 2 %
  Verdict check;    ///< beyond 5 %
};

Verdict verdict_of(const Row& row, const Tolerance& tolerance, Claim claim) {
  const Question question{.shift = shift_of(row.slower, row.half), .tolerance = tolerance};
  return judge(std::vector{question}, claim).front().verdict;
}

TEST(Judge, AnswersByToleranceAndClaim) {
  using enum Verdict;
  const Row rows[] = {
      {"nothing", 0.0, 0.01, inconclusive, same, same},
      {"nothing, known to a quarter", 0.0, 0.25, inconclusive, inconclusive, inconclusive},
      {"1 %, narrow", 0.01, 0.002, slower, same, same},
      {"1 % less, narrow", -0.01, 0.002, faster, same, same},
      {"2 % ± 0.5 %", 0.02, 0.005, slower, inconclusive, same},
      {"3 % ± 2 %", 0.03, 0.02, slower, slower, same},
      {"3 % ± 4 %", 0.03, 0.04, inconclusive, inconclusive, inconclusive},
      {"6 % ± 2 %", 0.06, 0.02, slower, slower, inconclusive},
      {"8 % ± 2 %", 0.08, 0.02, slower, slower, slower},
      {"8 % less ± 2 %", -0.08, 0.02, faster, faster, faster},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    EXPECT_EQ(verdict_of(row, kAnyChange, Claim::change), row.run);
    EXPECT_EQ(verdict_of(row, kCompare, Claim::change), row.compare);
    EXPECT_EQ(verdict_of(row, kCheck, Claim::beyond_tolerance), row.check);
  }
}

/// Who asks, and with which tolerance, decides nothing about the interval.
TEST(Judge, HasOneIntervalWhateverIsAsked) {
  const Question question{.shift = shift_of(0.03, 0.02), .tolerance = kCheck};
  Question wider = question;
  wider.tolerance = {-0.5, 0.5};
  const Judgement change = judge(std::vector{question}, Claim::change).front();
  const Judgement beyond = judge(std::vector{wider}, Claim::beyond_tolerance).front();
  ASSERT_TRUE(change.interval);
  EXPECT_EQ(change.interval, beyond.interval);
  EXPECT_NEAR(change.interval->high, std::log(1.03) + 0.02, 1e-8);
}

TEST(Judge, KeepsFactsWhateverTheTimesSay) {
  for (const Verdict fact :
       {Verdict::wrong_data, Verdict::other_path, Verdict::missing, Verdict::not_comparable}) {
    const Question question{.fact = fact, .shift = shift_of(0.5, 0.01), .tolerance = kCheck};
    EXPECT_EQ(judge(std::vector{question}, Claim::change).front().verdict, fact);
  }
  const Question wrong{
      .fact = Verdict::wrong_data, .shift = shift_of(0.5, 0.01), .tolerance = kCheck};
  const Judgement judgement = judge(std::vector{wrong}, Claim::beyond_tolerance).front();
  EXPECT_EQ(judgement.verdict, Verdict::wrong_data);
  EXPECT_TRUE(judgement.interval) << "how slow it is may be shown all the same";
}

TEST(Judge, LeavesOpenWhatHasNoShift) {
  for (const Claim claim : {Claim::change, Claim::beyond_tolerance}) {
    const Question question{.log = 0.5, .tolerance = kCheck};
    const Judgement judgement = judge(std::vector{question}, claim).front();
    EXPECT_EQ(judgement.verdict, Verdict::inconclusive);
    EXPECT_EQ(judgement.shift, 0.5);
    EXPECT_FALSE(judgement.interval);
  }
}

TEST(Judge, BelievesNoTimeByAPathThatIsNotKnown) {
  Question question{.shift = shift_of(0.0, 0.01), .tolerance = kCheck, .lost_path = Path::nvlink};
  const auto verdict = [&] {
    return judge(std::vector{question}, Claim::beyond_tolerance).front().verdict;
  };
  EXPECT_EQ(verdict(), Verdict::unknown_path);
  question.shift = shift_of(-0.5, 0.01);
  EXPECT_EQ(verdict(), Verdict::faster);
  question.shift = shift_of(0.5, 0.01);
  EXPECT_EQ(verdict(), Verdict::slower);
}

TEST(Judge, SaysThatDigitsAreTooFew) {
  Question question{.shift = shift_of(0.03, 0.001), .tolerance = kCheck};
  question.shift->rounding = 0.04;
  const Judgement judgement = judge(std::vector{question}, Claim::beyond_tolerance).front();
  EXPECT_EQ(judgement.verdict, Verdict::inconclusive);
  EXPECT_THAT(judgement.reasons, ElementsAre(Field(&Reason::kind, Reason::Kind::few_digits)));
}

/// Of many that lie at the tolerance some look slower by chance.
TEST(Judge, TestsCasesTogetherWhereItClaimsThatTheyAreBeyondTheTolerance) {
  std::vector<Question> questions(20, {.shift = shift_of(0.05, 0.02), .tolerance = kCheck});
  questions[0].shift = shift_of(0.075, 0.02);
  const std::vector<Judgement> together = judge(questions, Claim::beyond_tolerance);
  EXPECT_EQ(together[0].verdict, Verdict::inconclusive);
  EXPECT_THAT(together[0].reasons, ElementsAre(Field(&Reason::kind, Reason::Kind::one_of_many)));
  EXPECT_EQ(together[0].reasons.front().alone, Verdict::slower);
  EXPECT_THAT(together[1].reasons, IsEmpty());
  questions.resize(1);
  EXPECT_EQ(judge(questions, Claim::beyond_tolerance).front().verdict, Verdict::slower);
}

TEST(Verdict, FailsOrIsOpen) {
  EXPECT_TRUE(fails(Verdict::slower));
  EXPECT_FALSE(fails(Verdict::faster));
  EXPECT_FALSE(fails(Verdict::not_comparable));
  EXPECT_TRUE(is_open(Verdict::unknown_path));
  EXPECT_FALSE(is_open(Verdict::same));
}

}  // namespace
}  // namespace linkgain::test
