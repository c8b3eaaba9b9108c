// What is judged of what, for every command: they differ in the tolerance and in what faster and
// slower claim.
#include "linkgain/analysis/judgement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

constexpr double kLaunches = 8;

/// Makes a shift by this share between sides of eight launches; half the interval's width is
/// `half`, and Student's t of 14 degrees of freedom 2.144787.
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

/// Counts an interval's ends as in it, and a shift by the tolerance itself as not beyond it.
TEST(Judge, TellsNothingByBoundsThatAreReached) {
  const double lower = log_lower(kCompare);
  const double upper = log_upper(kCompare);
  for (const auto& [log, interval] : {std::pair{0.05, Interval{0.0, 0.1}},
                                      {-0.05, {-0.1, 0.0}},
                                      {upper, {0.01, 0.03}},
                                      {lower, {-0.03, -0.01}},
                                      {0.0, {-0.01, upper}},
                                      {0.0, {lower, 0.01}}}) {
    const Question question{.log = log, .interval = interval, .tolerance = kCompare};
    EXPECT_EQ(judge(std::vector{question}, Claim::change).front().verdict, Verdict::inconclusive)
        << log << " in " << interval.low << " to " << interval.high;
  }
}

/// Keeps the interval independent of who asks, and with which tolerance.
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
    const Question known{.shift = question.shift, .tolerance = kCheck};
    const auto all = judge(std::vector{question, known, question}, Claim::beyond_tolerance);
    EXPECT_EQ(all[0].verdict, all[2].verdict);
    return all[2].verdict;
  };
  EXPECT_EQ(verdict(), Verdict::unknown_path);
  question.shift = shift_of(-0.5, 0.01);
  EXPECT_EQ(verdict(), Verdict::faster);
  question.shift = shift_of(0.5, 0.01);
  EXPECT_EQ(verdict(), Verdict::slower);
}

TEST(Judge, SaysThatDigitsAreTooFew) {
  const auto judged = [](double slower, double rounding) {
    Question question{.shift = shift_of(slower, 0.001), .tolerance = kCheck};
    question.shift->rounding = rounding;
    return judge(std::vector{question}, Claim::beyond_tolerance).front();
  };
  for (const double slower : {0.03, -0.03}) {
    const Judgement judgement = judged(slower, 0.04);
    EXPECT_EQ(judgement.verdict, Verdict::inconclusive);
    ASSERT_THAT(judgement.reasons, ElementsAre(Field(&Reason::kind, Reason::Kind::few_digits)));
    EXPECT_DOUBLE_EQ(judgement.reasons.front().amount, std::expm1(0.04));
    EXPECT_FALSE(judgement.settling);
  }
  const Judgement just_enough = judged(0.0, log_upper(kCheck));
  EXPECT_EQ(just_enough.verdict, Verdict::inconclusive);
  EXPECT_THAT(just_enough.reasons, IsEmpty());
  EXPECT_TRUE(just_enough.settling) << "by launches that have no deviation";
}

/// Allows for chance: of many cases at the tolerance some look slower.
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

TEST(Judge, GivesNoReasonWhereTheIntervalReachesTheTolerance) {
  ShiftQuantiles quantiles;
  for (const double sign : {1.0, -1.0}) {
    std::vector<Question> questions(20, {.shift = shift_of(0.0, 0.02), .tolerance = kAnyChange});
    const double end = sign * interval_of(*questions[0].shift, quantiles).high;
    questions[0].shift->log = end;
    const Judgement reaches = judge(questions, Claim::beyond_tolerance).front();
    EXPECT_EQ(sign > 0.0 ? reaches.interval->low : reaches.interval->high, 0.0);
    EXPECT_EQ(reaches.verdict, Verdict::inconclusive);
    EXPECT_THAT(reaches.reasons, IsEmpty());
    questions[0].shift->log = 1.01 * end;
    EXPECT_TRUE(judge(questions, Claim::beyond_tolerance).front().has(Reason::Kind::one_of_many));
  }
}

/// Needs more launches among others only for cases beyond the tolerance.
TEST(Judge, SettlesWhatSeemsWithinTheToleranceByItself) {
  for (const auto& [slower, alike] : {std::pair{0.02, true}, {0.09, false}, {-0.08, false}}) {
    std::vector<Question> questions(20, {.shift = shift_of(slower, 0.06), .tolerance = kCheck});
    const std::optional<Settling> together =
        judge(questions, Claim::beyond_tolerance).front().settling;
    questions.resize(1);
    const std::optional<Settling> alone =
        judge(questions, Claim::beyond_tolerance).front().settling;
    ASSERT_TRUE(together && alone) << slower;
    EXPECT_EQ(together->launches == alone->launches, alike) << slower;
  }
}

TEST(Verdict, IsAChangeOrFailsOrIsOpenOrHasASpeedUp) {
  using enum Verdict;
  const auto all_for_which = [](bool (*holds)(Verdict)) {
    std::vector<Verdict> found;
    std::ranges::copy_if(kValues<Verdict>, std::back_inserter(found), holds);
    return found;
  };
  EXPECT_THAT(all_for_which(is_change), ElementsAre(slower, faster));
  EXPECT_THAT(all_for_which(fails), ElementsAre(missing, wrong_data, other_path, slower));
  EXPECT_THAT(all_for_which(is_open), ElementsAre(unknown_path, other_launch, inconclusive));
  EXPECT_THAT(all_for_which(has_speed_up), ElementsAre(slower, inconclusive, faster, same));
}

TEST(IsOne, AllowsForRoundingAlone) {
  for (const double off : {0.0, 9.5e-13, -9.5e-13}) EXPECT_TRUE(is_one(1.0 + off)) << off;
  for (const double off : {1.05e-12, -1.05e-12, 0.1, -0.1}) EXPECT_FALSE(is_one(1.0 + off)) << off;
}

}  // namespace
}  // namespace linkgain::test
