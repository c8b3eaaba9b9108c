#include <gtest/gtest.h>

#include "linkgain/run/progress.hpp"

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

  RunPlan plan;
  double time = 100.0;

 private:
  Seconds now() const override { return Seconds{time}; }
};

TEST_F(RunPaceTest, CountsCasesLaunchesAndSequentialPasses) {
  EXPECT_EQ(pace().steps(), 40);
  plan.launches = 3;
  EXPECT_EQ(pace().steps(), 120);
  plan.sequential = true;
  EXPECT_EQ(pace().steps(), 240);
}

TEST_F(RunPaceTest, TimeLeftFollowsThePaceSoFar) {
  RunPace p = pace();
  EXPECT_LT(p.seconds_left(), 0.0) << "unknown";
  p.finished(0, 2.0);
  p.finished(1, 4.0);
  EXPECT_EQ(p.step(), 2);
  EXPECT_DOUBLE_EQ(p.seconds_left(), 3.0 * 38);
}

TEST_F(RunPaceTest, ACaseTakesInLaterLaunchesWhatItTook) {
  plan.cases.resize(2);
  plan.launches = 3;
  RunPace p = pace();
  p.finished(0, 2.0);
  p.finished(1, 10.0);
  p.finished(0, 4.0);
  EXPECT_DOUBLE_EQ(p.seconds_left(), 3.0 + 2 * 10.0);
}

TEST_F(RunPaceTest, ABudgetEndsTheRun) {
  plan.budget = Seconds{10.0};
  RunPace p = pace();
  p.finished(0, 2.0);
  time = 104.0;
  EXPECT_DOUBLE_EQ(p.seconds_left(), 6.0);
  EXPECT_FALSE(p.out_of_budget());
  time = 110.0;
  EXPECT_TRUE(p.out_of_budget());
}

TEST_F(RunPaceTest, ATrainingTellsNothingOfTheOthers) {
  plan.cases[39] = parse_case_name("gpt2_step/fp32/gpt2/np2");
  RunPace p = pace();
  p.finished(0, 2.0);
  EXPECT_LT(p.seconds_left(), 0.0) << "not that it takes as little";
  p.finished(39, 45.0);
  EXPECT_DOUBLE_EQ(p.seconds_left(), 38 * 2.0);
  plan.budget = Seconds{10.0};
  RunPace limited = pace();
  limited.finished(0, 2.0);
  time = 102.0;
  EXPECT_DOUBLE_EQ(limited.seconds_left(), 8.0) << "a budget tells";
}

TEST_F(RunPaceTest, ABudgetLowersLaunchesToThreeAtLeast) {
  plan.launches = 6;
  EXPECT_FALSE(pace().lower_launches(1e6, 0.0, 6)) << "no budget";
  plan.budget = Seconds{60.0};
  const auto lowered = [&](double pass) {
    RunPace p = pace();
    time += pass;
    const bool fewer = p.lower_launches(pass, 0.0, 6);
    time -= pass;
    EXPECT_EQ(fewer, p.launches() < 6);
    EXPECT_EQ(p.steps(), 40 * p.launches());
    return p.launches();
  };
  EXPECT_EQ(lowered(10.0), 6);
  EXPECT_EQ(lowered(11.0), 5);
  EXPECT_EQ(lowered(15.0), 4);
  EXPECT_EQ(lowered(20.0), 3);
  EXPECT_EQ(lowered(50.0), 3) << "cases are left out instead";
  plan.launches = 2;
  EXPECT_EQ(pace().lower_launches(50.0, 0.0, 2), false);
}

TEST_F(RunPaceTest, CountsTheStartsOfGroupsToCome) {
  plan.launches = 6;
  plan.launches_at_once = 2;
  plan.budget = Seconds{60.0};
  RunPace p = pace();
  EXPECT_FALSE(p.lower_launches(10.0, 5.0, 2)) << "five passes and two starts";
  EXPECT_TRUE(p.lower_launches(10.0, 6.0, 2));
  EXPECT_EQ(p.launches(), 5) << "four passes and two starts";
}

TEST_F(RunPaceTest, HoldsALaunchMoreOfSomeCases) {
  plan.budget = Seconds{10.0};
  RunPace p = pace();
  p.finished(0, 2.0);
  p.finished(1, 6.0);
  time = 102.0;
  EXPECT_TRUE(p.holds({0, 1}, 0.0));
  EXPECT_FALSE(p.holds({0, 1}, 1.0)) << "with the start of its jobs";
  p.add_launch({0});
  EXPECT_EQ(p.launches(), 2);
  EXPECT_EQ(p.steps(), 41);
}

TEST(RoundsInLaunch, SpreadATrainingsStepsOverTheLaunches) {
  RunPlan plan;
  plan.training = TrainingPlan{.steps = 200, .tokens = {}};
  const auto blocks = [&](const std::string& name) {
    std::vector<int> all;
    for (int launch = 0; launch < plan.launches; ++launch) {
      all.push_back(rounds_in_launch(plan, parse_case_name(name), launch));
    }
    return all;
  };
  const std::string ddp = "gpt2_step/fp32/gpt2/np2";
  using Blocks = std::vector<int>;
  EXPECT_EQ(blocks(ddp), (Blocks{20}));
  EXPECT_EQ(blocks(ddp + "/none"), (Blocks{3}));
  plan.launches = 6;
  EXPECT_EQ(blocks(ddp), (Blocks{4, 4, 3, 3, 3, 3}));
  EXPECT_EQ(blocks(ddp + "/none"), (Blocks{3, 3, 3, 3, 3, 3}));
  EXPECT_EQ(blocks("all_reduce/float32/sum/1KiB/np2"), (Blocks{4, 4, 4, 4, 4, 4}));
  plan.training->steps = 20;
  EXPECT_EQ(blocks(ddp), (Blocks{1, 1, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace linkgain::test
