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
  p.finished(Case{}, 2.0);
  p.finished(Case{}, 4.0);
  EXPECT_DOUBLE_EQ(p.seconds_left(), 3.0 * 38);
}

TEST_F(RunPaceTest, ABudgetEndsTheRun) {
  plan.budget = Seconds{10.0};
  RunPace p = pace();
  p.finished(Case{}, 2.0);
  time = 104.0;
  EXPECT_DOUBLE_EQ(p.seconds_left(), 6.0);
  EXPECT_FALSE(p.out_of_budget());
  time = 110.0;
  EXPECT_TRUE(p.out_of_budget());
}

TEST_F(RunPaceTest, ATrainingTakesNoTimeOfTheOthers) {
  const Case training = parse_case_name("gpt2_step/fp32/gpt2/np2");
  const double before = pace().rule(Case{}).limits().most_time.value;
  plan.cases[0] = training;
  RunPace p = pace();
  p.finished(training, 45.0);
  EXPECT_DOUBLE_EQ(p.rule(Case{}).limits().most_time.value, before);
  EXPECT_DOUBLE_EQ(p.seconds_left(), 39 * 0.33) << "39 cases that are no trainings";
  p.finished(Case{}, 0.1);
  EXPECT_GT(p.rule(Case{}).limits().most_time.value, before) << "what one left is there for others";
}

TEST_F(RunPaceTest, ABudgetEndsATrainingAfterAFewBlocks) {
  const Case training = parse_case_name("gpt2_step/fp32/gpt2/np2");
  plan.budget = Seconds{60.0};
  const StoppingRule::Limits limits = pace().rule(training).limits();
  EXPECT_EQ(limits.first_look, 5);
  EXPECT_EQ(limits.most_rounds, 20);
  EXPECT_DOUBLE_EQ(limits.most_time.value, 0.85 * 60.0 / 40) << "what is sampled of a 40th";
}

TEST_F(RunPaceTest, NothingIsKnownOfTrainingsThatComeLast) {
  const Case training = parse_case_name("gpt2_step/fp32/gpt2/np2");
  plan.cases[38] = plan.cases[39] = training;
  RunPace p = pace();
  for (int i = 0; i < 38; ++i) p.finished(Case{}, 0.5);
  EXPECT_LT(p.seconds_left(), 0.0) << "not that both take no time";
  p.finished(training, 45.0);
  EXPECT_DOUBLE_EQ(p.seconds_left(), 45.0);
  p.finished(training, 43.0);
  EXPECT_DOUBLE_EQ(p.seconds_left(), 0.0);
}

TEST_F(RunPaceTest, OfTrainingsThatComeLastABudgetTells) {
  plan.cases[39] = parse_case_name("gpt2_step/fp32/gpt2/np2");
  plan.budget = Seconds{10.0};
  RunPace p = pace();
  p.finished(Case{}, 2.0);
  time = 102.0;
  EXPECT_DOUBLE_EQ(p.seconds_left(), 8.0);
}

TEST_F(RunPaceTest, ATrainingHasTheBlocksOfItsSteps) {
  const Case ddp = parse_case_name("gpt2_step/fp32/gpt2/np2");
  const Case none = parse_case_name("gpt2_step/fp32/gpt2/np2/none");
  const auto blocks = [&](const Case& c) {
    const StoppingRule rule = pace().rule(c);
    EXPECT_EQ(rule.limits().most_rounds, rule.limits().first_look);
    return rule.limits().first_look;
  };
  EXPECT_EQ(blocks(ddp), 20);
  EXPECT_EQ(blocks(none), 5);
  plan.launches = 3;
  EXPECT_EQ(blocks(ddp), 7) << "200 steps over all launches";
  plan.launches = 8;
  EXPECT_EQ(blocks(ddp), 5) << "never fewer, or a launch says nothing";
  plan.training->steps = 20;
  EXPECT_EQ(blocks(ddp), 2);
  EXPECT_EQ(blocks(none), 2);
}

}  // namespace
}  // namespace linkgain::test
