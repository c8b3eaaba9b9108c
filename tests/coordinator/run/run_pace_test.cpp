#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "linkgain/run/pace.hpp"

namespace linkgain::test {
namespace {

class RunPaceTest : public ::testing::Test, private RunObserver {
 protected:
  RunPaceTest() {
    plan.variants.resize(2);
    plan.cases.resize(40);
    plan.training.emplace();
  }

  RunPace pace() { return RunPace(plan, *this); }

  /// Measures the first launch of all cases, which takes `seconds`.
  void measure_all(RunPace& pace, double seconds) {
    const auto cases = static_cast<int>(plan.cases.size());
    for (int i = 0; i < cases; ++i) pace.finished(i, 0, seconds / cases, 0.0);
    time += seconds;
  }

  RunPlan plan;
  double time = 100.0;

 private:
  Seconds now() const override { return Seconds{time}; }
};

TEST_F(RunPaceTest, CountsCasesLaunchesAndSequentialPasses) {
  EXPECT_EQ(pace().steps(), 40);
  plan.launches = 3;
  EXPECT_EQ(pace().steps(), 120);
  plan.schedule = Schedule::sequential;
  EXPECT_EQ(pace().steps(), 240);
}

TEST_F(RunPaceTest, TimeLeftFollowsThePaceSoFar) {
  RunPace p = pace();
  EXPECT_GT(p.seconds_left(), 0.0) << "guessed";
  p.finished(0, 0, 2.0, 0.0);
  p.finished(1, 0, 4.0, 0.0);
  EXPECT_EQ(p.step(), 2);
  EXPECT_DOUBLE_EQ(p.seconds_left(), 3.0 * 38);
}

TEST_F(RunPaceTest, ACaseTakesInLaterLaunchesWhatItTook) {
  plan.cases.resize(2);
  plan.launches = 3;
  RunPace p = pace();
  p.finished(0, 0, 2.0, 0.0);
  p.finished(1, 0, 10.0, 0.0);
  p.finished(0, 1, 4.0, 0.0);
  EXPECT_DOUBLE_EQ(p.seconds_left(), 3.0 + 2 * 10.0);
}

TEST_F(RunPaceTest, TimeLeftRunsWhileJobsStartAndACaseIsMeasured) {
  plan.cases.resize(2);
  RunPace p = pace();
  const double all = p.seconds_left();
  p.starts_group();
  EXPECT_DOUBLE_EQ(p.seconds_left(), all);
  time += 0.25;
  EXPECT_DOUBLE_EQ(p.seconds_left(), all - 0.25);
  p.started_group(1.0);
  p.admits(0);
  p.finished(0, 0, 8.0, 0.0);
  EXPECT_DOUBLE_EQ(p.seconds_left(), 8.0);
  p.admits(1);
  time += 3.0;
  EXPECT_DOUBLE_EQ(p.seconds_left(), 5.0);
  time += 30.0;
  EXPECT_DOUBLE_EQ(p.seconds_left(), 0.0) << "it takes longer than the others";
}

/// Makes the largest size take four times as long as the smallest, and the first launch a sixth
/// longer.
TEST_F(RunPaceTest, TimeLeftIsRightAfterAQuarterOfARun) {
  plan.launches = 6;
  RunPace p = pace();
  p.starts_group();
  time += 5.0;
  p.started_group(5.0);
  const auto seconds = [](int launch, int i) {
    return (launch == 0 ? 7 : 6) * 0.02 * (1 + i / 13.0);
  };
  double all = 5.0;
  for (int i = 0; i < 40; ++i) all += seconds(0, i) + 5 * seconds(1, i);
  double worst = 0.0;
  for (int launch = 0; launch < plan.launches; ++launch) {
    for (int i = 0; i < 40; ++i) {
      p.admits(i);
      time += seconds(launch, i);
      p.finished(i, launch, seconds(launch, i), 0.0);
      const double left = all - (time - 100.0);
      if (left < 0.75 * all && left > 0.05 * all) {
        worst = std::max(worst, std::abs(p.seconds_left() / left - 1.0));
      }
    }
  }
  EXPECT_LT(worst, 0.2);
}

TEST_F(RunPaceTest, ABudgetEndsTheRun) {
  plan.budget = Seconds{10.0};
  RunPace p = pace();
  p.finished(0, 0, 2.0, 0.0);
  time = 104.0;
  EXPECT_DOUBLE_EQ(p.seconds_left(), 6.0);
  EXPECT_FALSE(p.out_of_budget());
  time = 110.0;
  EXPECT_TRUE(p.out_of_budget());
  time = 117.0;
  EXPECT_DOUBLE_EQ(p.seconds_left(), -7.0) << "since its end";
}

TEST_F(RunPaceTest, ATrainingTellsNothingOfTheOthers) {
  plan.cases[39] = parse_case_name("gpt2_step/fp32/gpt2/np2");
  RunPace p = pace();
  p.finished(0, 0, 2.0, 0.0);
  EXPECT_GT(p.seconds_left(), 38 * 2.0) << "a guess for the training";
  p.finished(39, 0, 45.0, 0.0);
  EXPECT_DOUBLE_EQ(p.seconds_left(), 38 * 2.0);
  plan.budget = Seconds{10.0};
  RunPace limited = pace();
  limited.finished(0, 0, 2.0, 0.0);
  time = 102.0;
  EXPECT_DOUBLE_EQ(limited.seconds_left(), 8.0) << "a budget tells";
}

TEST_F(RunPaceTest, ABudgetLowersLaunchesToThreeAtLeast) {
  plan.launches = 6;
  EXPECT_FALSE(pace().lower_launches()) << "no budget";
  plan.budget = Seconds{60.0};
  const auto lowered = [&](double pass) {
    RunPace p = pace();
    measure_all(p, pass);
    const bool fewer = p.lower_launches();
    EXPECT_EQ(fewer, p.launches() < plan.launches);
    EXPECT_EQ(p.steps(), 40 * p.launches());
    time -= pass;
    return p.launches();
  };
  EXPECT_EQ(lowered(10.0), 6);
  EXPECT_EQ(lowered(11.0), 5);
  EXPECT_EQ(lowered(15.0), 4);
  EXPECT_EQ(lowered(20.0), 3);
  EXPECT_EQ(lowered(29.0), 3) << "the third one comes as far as it can";
  plan.launches = 2;
  EXPECT_EQ(lowered(29.0), 2);
}

TEST_F(RunPaceTest, ABudgetForLessThanThreeLaunchesLeavesCasesOut) {
  plan.launches = 6;
  plan.budget = Seconds{60.0};
  RunPace p = pace();
  int measured = 0;
  for (int i = 0; i < 40; ++i) {
    if (!p.admits(i)) continue;
    EXPECT_EQ(measured++, i) << "none after the first that is left out";
    time += 1.0;
    p.finished(i, 0, 1.0, 0.0);
  }
  EXPECT_EQ(measured, 20) << "of which the budget holds three launches";
  EXPECT_TRUE(p.lower_launches());
  EXPECT_EQ(p.launches(), 3);
  EXPECT_EQ(p.steps(), 60);
  EXPECT_EQ(p.rounds(19, 1), kRoundsPerLaunch);
  EXPECT_EQ(p.rounds(20, 1), 0);
  EXPECT_DOUBLE_EQ(p.seconds_left(), 40.0);
}

TEST_F(RunPaceTest, NoneIsLeftOutThatEveryVariantInTurnHasBegun) {
  plan.schedule = Schedule::sequential;
  plan.launches = 3;
  plan.budget = Seconds{60.0};
  RunPace p = pace();
  for (int i = 0; p.admits(i); ++i) {
    time += 1.0;
    p.finished(i, 0, 1.0, 0.0);
  }
  EXPECT_EQ(p.step(), 10) << "three launches of two variants";
  time += 45.0;
  EXPECT_TRUE(p.admits(9));
  EXPECT_FALSE(p.admits(10));
}

TEST_F(RunPaceTest, ACaseThatTakesMoreThanWasExpectedIsLeftOutOfTheOtherLaunches) {
  plan.cases[39] = parse_case_name("gpt2_step/fp32/gpt2/np2");
  plan.launches = 6;
  plan.budget = Seconds{60.0};
  RunPace p = pace();
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(p.admits(i));
    p.finished(i, 0, i < 39 ? 0.1 : 40.0, 0.0);
  }
  time += 43.9;
  EXPECT_TRUE(p.lower_launches());
  EXPECT_EQ(p.launches(), 3);
  EXPECT_EQ(p.rounds(39, 1), 0);
  EXPECT_EQ(p.rounds(38, 1), kRoundsPerLaunch);
  EXPECT_EQ(p.holds({0}, 1), 0) << "while something was left out";
}

TEST_F(RunPaceTest, ALargeCaseTellsNothingOfSmallOnesAndTheNearestSizeMost) {
  plan.cases.resize(4);
  plan.cases[0].size = Bytes{16};
  plan.cases[1].size = Bytes{std::int64_t{1} << 24};
  plan.cases[2].size = Bytes{std::int64_t{1} << 28};
  plan.cases[3].size = Bytes{std::int64_t{1} << 30};
  plan.launches = 3;
  plan.budget = Seconds{60.0};
  RunPace p = pace();
  ASSERT_EQ(p.order(), (std::vector<int>{3, 0, 2, 1}));
  ASSERT_TRUE(p.admits(3));
  p.finished(3, 0, 12.0, 0.0);
  time += 12.0;
  ASSERT_TRUE(p.admits(0)) << "three of 12 s each would take 60 s, were it as slow";
  p.finished(0, 0, 1.0, 0.0);
  time += 1.0;
  EXPECT_FALSE(p.admits(2)) << "as slow as the one near it";
  ASSERT_TRUE(p.admits(1));
  p.finished(1, 0, 2.0, 0.0);
  time += 2.0;
  p.lower_launches();
  EXPECT_DOUBLE_EQ(p.seconds_left(), 2 * (12.0 + 1.0 + 2.0));
}

TEST_F(RunPaceTest, ALargerCaseTakesNoLongerThanInProportion) {
  plan.cases.resize(2);
  plan.cases[0].size = Bytes{std::int64_t{16} << 20};
  plan.cases[1].size = Bytes{std::int64_t{64} << 20};
  plan.launches = 1;
  RunPace p = pace();
  const double guessed = p.seconds_left();
  ASSERT_TRUE(p.admits(0));
  p.finished(0, 0, 0.01, 0.0);
  EXPECT_DOUBLE_EQ(p.seconds_left(), 0.04) << guessed;
}

TEST_F(RunPaceTest, ABudgetIsSpentOnSizesBetweenLast) {
  plan.cases.resize(3);
  for (std::size_t i = 0; i < 3; ++i) plan.cases[i].size = Bytes{std::int64_t{1024} << i};
  plan.launches = 3;
  EXPECT_EQ(pace().order(), (std::vector<int>{0, 1, 2})) << "without a budget in order";
  plan.budget = Seconds{23.0};
  RunPace p = pace();
  for (const int index : p.order()) p.finished(index, 0, 4.0, 0.0);
  time += 12.0;
  p.lower_launches();
  EXPECT_EQ(p.rounds(1, 1), 0);
  EXPECT_EQ(p.rounds(0, 1), kRoundsPerLaunch);
  EXPECT_EQ(p.rounds(2, 1), kRoundsPerLaunch);
}

TEST_F(RunPaceTest, CountsTheStartsOfGroupsToCome) {
  plan.launches = 6;
  plan.launches_at_once = 2;
  plan.budget = Seconds{61.0};
  const auto lowered = [&](double start) {
    RunPace p = pace();
    p.starts_group();
    p.started_group(start);
    measure_all(p, 10.0);
    p.lower_launches();
    time -= 10.0;
    return p.launches();
  };
  EXPECT_EQ(lowered(0.5), 6) << "five passes and two starts";
  EXPECT_EQ(lowered(5.0), 5) << "four passes and two starts";
}

TEST_F(RunPaceTest, FewerLaunchesSaveATrainingsOpeningAlone) {
  plan.cases = {parse_case_name("gpt2_step/fp32/gpt2/np2")};
  plan.launches = 6;
  plan.training->steps = 200;
  plan.budget = Seconds{36.0};
  RunPace p = pace();
  p.finished(0, 0, 7.0, 4.0);
  EXPECT_DOUBLE_EQ(p.seconds_left(), 5 * 3.0 + 16 * 1.0);
  time += 7.0;
  EXPECT_TRUE(p.lower_launches());
  EXPECT_EQ(p.launches(), 5);
}

TEST_F(RunPaceTest, HoldsMoreLaunchesOfSomeCases) {
  plan.budget = Seconds{10.0};
  RunPace p = pace();
  p.finished(0, 0, 2.0, 0.0);
  p.finished(1, 0, 6.0, 0.0);
  time = 102.0;
  EXPECT_EQ(p.holds({0, 1}, 3), 1);
  EXPECT_EQ(p.holds({0}, 3), 3);
  EXPECT_EQ(p.holds({0}, 6), 4);
  p.started_group(0.5);
  EXPECT_EQ(p.holds({0, 1}, 3), 0) << "with the start of its jobs";
  p.started_group(0.0);
  p.ended_group(0.5);
  EXPECT_EQ(p.holds({0, 1}, 3), 0) << "and their end";
  p.add_group({0}, 2);
  EXPECT_EQ(p.launches(), 3);
  EXPECT_EQ(p.steps(), 42);
}

TEST_F(RunPaceTest, ALaunchMoreIsOneOfEveryVariantInTurn) {
  plan.budget = Seconds{10.0};
  plan.schedule = Schedule::sequential;
  RunPace p = pace();
  p.finished(0, 0, 2.0, 0.0);
  p.finished(0, 0, 2.0, 0.0);
  time = 104.0;
  p.started_group(1.0);
  EXPECT_EQ(p.holds({0}, 2), 1) << "two steps and two starts";
  p.started_group(1.1);
  EXPECT_EQ(p.holds({0}, 2), 0);
}

TEST(RoundsInLaunch, DistributesATrainingsStepsOverTheLaunches) {
  RunPlan plan;
  plan.training = TrainingPlan{.steps = 200, .tokens = {}};
  int lowered = 1;
  const auto blocks = [&](const std::string& name) {
    std::vector<int> all;
    for (int launch = 0; launch < plan.launches; ++launch) {
      all.push_back(rounds_in_launch(plan, parse_case_name(name), launch, lowered));
    }
    return all;
  };
  const std::string ddp = "gpt2_step/fp32/gpt2/np2";
  using Blocks = std::vector<int>;
  EXPECT_EQ(blocks(ddp), (Blocks{20}));
  EXPECT_EQ(blocks(ddp + "/none"), (Blocks{1}));
  plan.launches = lowered = 6;
  EXPECT_EQ(blocks(ddp), (Blocks{4, 4, 3, 3, 3, 3}));
  EXPECT_EQ(blocks(ddp + "/none"), (Blocks{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(blocks("all_reduce/float32/sum/1KiB/np2"), (Blocks{4, 4, 4, 4, 4, 4}));
  lowered = 3;
  EXPECT_EQ(blocks(ddp), (Blocks{4, 8, 8, 0, 0, 0})) << "none is lost";
  lowered = 5;
  EXPECT_EQ(blocks(ddp), (Blocks{4, 4, 4, 4, 4, 0}));
  lowered = 6;
  plan.training->steps = 40;
  EXPECT_EQ(blocks(ddp), (Blocks{1, 1, 1, 1, 0, 0}));
  lowered = 3;
  EXPECT_EQ(blocks(ddp), (Blocks{1, 2, 1, 0, 0, 0}));
}

}  // namespace
}  // namespace linkgain::test
