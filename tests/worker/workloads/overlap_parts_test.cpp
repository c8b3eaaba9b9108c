#include "overlap_parts.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <stdexcept>

#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

constexpr double kTiny = 1e-12;
constexpr double kMs = 1e-3;

/// A training of two ranks with two buckets, in milliseconds: all that it takes, and what goes
/// wrong.
struct Story {
  double first_ready = 4;
  double backward_end = 10;
  double norm_and_update = 2;
  std::vector<double> alone{1, 3};

  double slowdown = 0;     ///< of backward's end, while the first bucket is under way
  double late = 0;         ///< of a rank's last bucket, in two of five steps, never both at once
  double stretch = 0;      ///< of the last all-reduce within the step
  double gap = 0;          ///< between the last bucket's being ready and its all-reduce
  double resuming = 0;     ///< from its end to where the model goes on
  double hidden_norm = 0;  ///< computed before it ends
  double overhead = 0;     ///< of watching

  /// Returns the exposed time of unwatched steps in which a rank is late.
  double exposed() const {
    return step_with(true, false).finish - overhead - step_without().finish;
  }

  StepTimes step_without() const {
    return {.begin = 0,
            .operations = {{first_ready, first_ready, first_ready},
                           {backward_end, backward_end, backward_end}},
            .resumed = backward_end,
            .finish = backward_end + norm_and_update};
  }

  /// Delays this rank, the other, or none.
  StepTimes step_with(bool is_late, bool is_other_late) const {
    StepTimes step = step_without();
    step.operations[0].end = first_ready + alone[0];
    const double usual = backward_end + slowdown;
    OperationTimes& last = step.operations[1];
    last.ready = usual + (is_late ? late : 0);
    const double last_ready = usual + (is_late || is_other_late ? late : 0);
    const double link_free = step.operations[0].end;
    last.start = std::max(last.ready, link_free) + gap;
    last.end = std::max(last_ready, link_free) + gap + alone[1] + stretch;
    step.resumed = last.end + resuming;
    step.finish = step.resumed + norm_and_update - hidden_norm + overhead;
    return step;
  }

  RankSteps steps_with(int rank, double clock) const {
    RankSteps steps;
    for (int i = 0; i < 5; ++i) {
      const int late_rank = i / 2;  // in the fifth step no one
      steps.push_back(moved(step_with(late_rank == rank, late_rank == 1 - rank), clock + 20 * i));
    }
    return steps;
  }

  static StepTimes moved(StepTimes step, double clock) {
    std::vector<double> numbers = numbers_of({&step, 1});
    for (double& each : numbers) each = (each + clock) * kMs;
    return steps_of(numbers, 2).front();
  }

  RankSteps reductions(double clock) const {
    const StepTimes step{.begin = 0,
                         .operations = {{0, 0, alone[0]}, {0, alone[0], alone[0] + alone[1]}},
                         .resumed = alone[0] + alone[1],
                         .finish = alone[0] + alone[1]};
    return {moved(step, clock), moved(step, clock + 9)};
  }

  OverlapFindings findings() const {
    const double step = backward_end + norm_and_update;
    const StepTimes without = step_without();
    return {.step = (step + exposed()) * kMs,
            .step_without = step * kMs,
            .step_without_tail = (step + slowdown) * kMs,
            .step_of_tail = (step + alone[1]) * kMs,
            .with = {steps_with(0, 50), steps_with(1, -200)},
            .without = {{moved(without, 1), moved(without, 30)}, {moved(without, 2)}},
            .alone = {reductions(0), reductions(70)}};
  }
};

/// Splits the story, and expects all parts to add up to the difference.
OverlapSplit split_of(const Story& story) {
  const OverlapSplit split = split_overlap(story.findings());
  const double sum = split.compute + split.skew + split.shift + split.reduction + split.link_gaps +
                     split.resuming + split.update + split.unseen;
  EXPECT_NEAR(sum, split.difference(), kTiny);
  return split;
}

/// Expects parts that are not named to be 0.
void expect_parts(const OverlapSplit& split, const OverlapSplit& expected) {
  EXPECT_NEAR(split.compute, expected.compute * kMs, kTiny) << "compute";
  EXPECT_NEAR(split.skew, expected.skew * kMs, kTiny) << "skew";
  EXPECT_NEAR(split.shift, expected.shift * kMs, kTiny) << "shift";
  EXPECT_NEAR(split.reduction, expected.reduction * kMs, kTiny) << "reduction";
  EXPECT_NEAR(split.link_gaps, expected.link_gaps * kMs, kTiny) << "link_gaps";
  EXPECT_NEAR(split.resuming, expected.resuming * kMs, kTiny) << "resuming";
  EXPECT_NEAR(split.update, expected.update * kMs, kTiny) << "update";
  EXPECT_NEAR(split.unseen, expected.unseen * kMs, kTiny) << "unseen";
}

TEST(OverlapSplit, OfATrainingAsTheModelHasItIsNothing) {
  const OverlapSplit split = split_of({});
  EXPECT_NEAR(split.predicted, 3 * kMs, kTiny);
  EXPECT_NEAR(split.measured, 3 * kMs, kTiny);
  expect_parts(split, {});
  EXPECT_TRUE(split.is_within());
}

TEST(OverlapSplit, FindsComputeThatIsSlower) {
  expect_parts(split_of({.slowdown = 0.7}), {.compute = 0.7});
}

TEST(OverlapSplit, FindsWhatLaterBucketsHide) {
  // Without the slowdown the first all-reduce goes on 4 ms after backward has ended.
  const OverlapSplit split = split_of({.alone = {10, 3}, .slowdown = 1});
  EXPECT_NEAR(split.predicted, 7 * kMs, kTiny);
  expect_parts(split, {.compute = 1, .shift = -1});
}

TEST(OverlapSplit, FindsAllReducesThatTakeLonger) {
  expect_parts(split_of({.stretch = 0.6}), {.reduction = 0.6});
}

TEST(OverlapSplit, FindsGaps) {
  expect_parts(split_of({.gap = 0.1, .resuming = 0.3, .hidden_norm = 0.2}),
               {.link_gaps = 0.1, .resuming = 0.3, .update = -0.2});
}

TEST(OverlapSplit, FindsRanksThatWaitForEachOther) {
  // Each is late in less than half of the steps, and one of them in most.
  const Story story{.late = 0.4};
  expect_parts(split_of(story), {.skew = 0.4});
  const auto buckets = bucket_findings(story.findings());
  EXPECT_NEAR(buckets[0].wait, 0, kTiny);
  EXPECT_NEAR(buckets[1].wait, 0.4 * kMs, kTiny);
  EXPECT_NEAR(buckets[1].within, 3 * kMs, kTiny);
}

TEST(OverlapSplit, SaysWhatMarksDoNotExplain) {
  expect_parts(split_of({.overhead = 0.25}), {.update = 0.25, .unseen = -0.25});
}

TEST(OverlapSplit, IsWithinTheLargerOfShareAndTime) {
  OverlapSplit split{.predicted = 1 * kMs, .measured = 1.49 * kMs};
  EXPECT_TRUE(split.is_within());
  split.measured = 1.51 * kMs;
  EXPECT_FALSE(split.is_within());
  split.measured = 0.49 * kMs;
  EXPECT_FALSE(split.is_within());
  split = {.predicted = 10 * kMs, .measured = 11.49 * kMs};
  EXPECT_TRUE(split.is_within());
  split.measured = 11.51 * kMs;
  EXPECT_FALSE(split.is_within());
}

TEST(BucketFindings, HaveEachBucketsTimes) {
  const auto buckets = bucket_findings(Story{.slowdown = 0.5, .stretch = 1}.findings());
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_NEAR(buckets[1].ready_without, 10 * kMs, kTiny);
  EXPECT_NEAR(buckets[1].ready, 10.5 * kMs, kTiny);
  EXPECT_NEAR(buckets[1].start, 10.5 * kMs, kTiny);
  EXPECT_NEAR(buckets[1].end, 14.5 * kMs, kTiny);
  EXPECT_NEAR(buckets[1].alone, 3 * kMs, kTiny);
  EXPECT_NEAR(buckets[1].within, 4 * kMs, kTiny);
  EXPECT_NEAR(buckets[1].model_end, 13 * kMs, kTiny);
  EXPECT_NEAR(buckets[0].model_end, 5 * kMs, kTiny);
}

TEST(OverlapText, ShowsFiguresAndVerdict) {
  const std::vector<Bytes> sizes{{Bytes{1 << 20}, Bytes{3 << 19}}};
  Situations situations;
  const auto add = [&](const std::string& situation, const Story& story) {
    situations.add(situation, overlap_text("tf32", story.findings(), sizes));
  };
  add("further from the prediction than it may be", {.slowdown = 0.7});
  add("within what it may be", {.slowdown = 0.4});
  // A zero's sign is the rounding's.
  const std::string text = with_replaced(situations.text(), "-0.000", " 0.000");
  expect_golden(with_replaced(text, "+0.000", " 0.000"), "overlap.txt");
}

TEST(OverlapCsv, HasALineForEachFigure) {
  EXPECT_EQ(overlap_csv_header(), "precision,bucket,what,seconds\n");
  const std::string text = overlap_csv("bf16", Story{.slowdown = 0.7}.findings());
  EXPECT_THAT(text, HasSubstr("bf16,1,ready,0.010700000\n"));
  EXPECT_THAT(text, HasSubstr("bf16,,predicted,0.003000000\n"));
  EXPECT_THAT(text, HasSubstr("bf16,,compute,0.000700000\n"));
  EXPECT_THAT(text, HasSubstr("bf16,,step_of_tail,0.015000000\n"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 2 * 8 + 2 + 8 + 4);
}

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

/// Makes a step of two operations; the second waits for the first. The rank computes `late` later
/// than the other one, which it waits for or which waits for it; its clock shows `clock` more.
StepTimes step_of_rank(double clock, double late) {
  return {.begin = clock + 100,
          .operations = {{clock + 103 + late, clock + 103 + late, clock + 106},
                         {clock + 105 + late, clock + 106 + late, clock + 109}},
          .resumed = clock + 109.5,
          .finish = clock + 112};
}

void expect_step(const StepTimes& step, const std::vector<double>& numbers) {
  EXPECT_THAT(numbers_of({&step, 1}), Pointwise(DoubleEq(), numbers));
}

TEST(StepTimes, TravelAsNumbers) {
  const RankSteps steps{step_of_rank(0, 0), step_of_rank(7, 1), step_of_rank(9, 2)};
  const std::vector<double> numbers = numbers_of(steps);
  ASSERT_EQ(numbers.size(), 27U);
  const RankSteps back = steps_of(numbers, 2);
  ASSERT_EQ(back.size(), 3U);
  EXPECT_EQ(numbers_of(back), numbers);
  EXPECT_EQ(back[1].operations[1].start, 114);
  EXPECT_THROW(steps_of(numbers, 3), std::invalid_argument);
}

TEST(MedianStep, CountsFromEachBegin) {
  const RankSteps steps{step_of_rank(0, 0), step_of_rank(1000, 0.5), step_of_rank(5000, 1)};
  expect_step(median_step(steps), {0, 9.5, 12, 3.5, 3.5, 6, 5.5, 6.5, 9});
  EXPECT_EQ(median_step(steps).backward_end(), 5.5);
}

TEST(Latest, TakesEachTimeFromTheRankWhereItIsLatest) {
  StepTimes early = step_of_rank(-100, 0);
  early.finish = 13;
  const RankSteps ranks{early, step_of_rank(-100, 1)};
  expect_step(latest(ranks), {0, 9.5, 13, 4, 4, 6, 6, 7, 9});
}

TEST(ClockOffset, ComesFromTheEndsOfOperations) {
  EXPECT_EQ(clock_offset(step_of_rank(0, 0), step_of_rank(40, 1)), -40);
  EXPECT_EQ(clock_offset(step_of_rank(40, 0), step_of_rank(0, 0)), 40);
  // One end that strays among three does not count.
  StepTimes first = step_of_rank(0, 0);
  StepTimes other = step_of_rank(40, 0);
  first.operations.push_back({110, 110, 120});
  other.operations.push_back({150, 150, 175});
  EXPECT_EQ(clock_offset(first, other), -40);
}

TEST(JointStep, StartsWhereTheLastRankJoins) {
  // The second rank begins half a second later, too.
  StepTimes second = step_of_rank(40, 1);
  second.begin += 0.5;
  const RankSteps ranks{step_of_rank(0, 0), second};
  expect_step(joint_step(ranks), {0, 9, 11.5, 3.5, 3.5, 5.5, 5.5, 6.5, 8.5});
}

TEST(JointSteps, HaveMediansOverSteps) {
  std::vector<RankSteps> ranks(2);
  for (const double late : {0.0, 0.25, 1.0}) {
    ranks[0].push_back(step_of_rank(1000 * late, 0));
    ranks[1].push_back(step_of_rank(-3000 * late, late));
  }
  expect_step(joint_median(ranks), {0, 9.5, 12, 3.25, 3.25, 6, 5.25, 6.25, 9});
  EXPECT_THAT(waits(ranks), ElementsAre(0.25, 0.25));
  EXPECT_THAT(joint_durations(ranks), ElementsAre(2.75, 2.75));
}

BucketSchedule schedule_of_ready(const std::vector<double>& ready,
                                 const std::vector<double>& durations) {
  StepTimes step;
  for (const double time : ready) step.operations.push_back({.ready = time});
  return schedule_of(step, durations);
}

TEST(ScheduleOf, HidesWhatFitsAndExposesTheTail) {
  // The link waits for the second bucket, the third waits for the link.
  const BucketSchedule schedule = schedule_of_ready({1, 5, 6}, {2, 3, 4});
  EXPECT_THAT(schedule.finish, ElementsAre(Seconds{3.0}, Seconds{8.0}, Seconds{12.0}));
  EXPECT_EQ(schedule.exposed.value, 6.0);
}

TEST(ScheduleOf, ExposesTheLastBucketAtLeast) {
  EXPECT_EQ(schedule_of_ready({1, 10}, {0.5, 0.25}).exposed.value, 0.25);
  EXPECT_EQ(schedule_of_ready({}, {}).exposed.value, 0.0);
  EXPECT_TRUE(schedule_of_ready({}, {}).finish.empty());
}

TEST(ScheduleOf, CountsFromTheEndOfBackwardWhereAnEarlierBucketIsTheLastToBeReady) {
  EXPECT_EQ(schedule_of_ready({4, 2}, {1, 1}).exposed.value, 2.0);
}

TEST(ScheduleOf, TakesReadyTimesAndDurations) {
  const BucketSchedule schedule = schedule_of(step_of_rank(-100, 0), std::vector{4.0, 5.0});
  EXPECT_EQ(schedule.finish[0].value, 7);
  EXPECT_EQ(schedule.finish[1].value, 12);
  EXPECT_EQ(schedule.exposed.value, 7);
}

}  // namespace
}  // namespace linkgain::test
