#include "step_times.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace linkgain::test {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Pointwise;

/// Two operations; the second waits for the first. `late` is how much later the rank computes than
/// the other one, which it waits for or which waits for it; `clock` is what its clock shows more.
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
