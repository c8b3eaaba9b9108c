#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "support/launch_records.hpp"

namespace linkgain::test {
namespace {

const Case kDdp = parse_case_name("gpt2_step/fp32/gpt2/np2");
const Case kNone = parse_case_name("gpt2_step/fp32/gpt2/np2/none");

/// Steps of three launches, each on a machine of another pace.
Record three_launches() {
  return run_of({{kDdp, "p2p", {0.101, 0.092, 0.104}}, {kNone, "p2p", {0.100, 0.090, 0.095}}});
}

void expect_exposed(const Record& record, std::size_t variant, double seconds) {
  const auto exposed = exposed_communication(record, record.cases[0], variant);
  ASSERT_TRUE(exposed.has_value());
  EXPECT_NEAR(exposed->time.value, seconds, 1e-12);
}

void forget(Record& record, int case_index, int launch) {
  std::erase_if(record.cases[static_cast<std::size_t>(case_index)].samples,
                [&](const Sample& sample) { return sample.launch == launch; });
}

// 1, 2 and 9 ms. Their mean is 4 ms; medians over all launches, 102.96 and 99 ms, are 3.96 apart.
TEST(ExposedCommunication, IsTheMedianOverLaunches) { expect_exposed(three_launches(), 0, 0.002); }

TEST(ExposedCommunication, IsOfLaunchesThatHaveBothSteps) {
  Record record = three_launches();
  forget(record, 1, 1);
  expect_exposed(record, 0, 0.005);
  forget(record, 0, 0);
  expect_exposed(record, 0, 0.009);
  forget(record, 1, 2);
  EXPECT_FALSE(exposed_communication(record, record.cases[0], 0).has_value());
}

TEST(ExposedCommunication, IsHeldAgainstTheFirstVariantThatComputedAlone) {
  Record record = run_of({{kDdp, "p2p", {0.101, 0.092}},
                          {kDdp, "host", {0.150, 0.160}},
                          {kNone, "p2p", {}},
                          {kNone, "host", {0.100, 0.090}}});
  expect_exposed(record, 0, 0.0015);
  expect_exposed(record, 1, 0.060);
  add_samples(record.cases[1], 0, 0, 0.080);
  add_samples(record.cases[1], 0, 1, 0.081);
  expect_exposed(record, 1, 0.0745);
}

TEST(ExposedCommunication, IsUnknownWithoutTheSameTrainingAlone) {
  Record record = three_launches();
  EXPECT_EQ(without_communication(record, kDdp), &record.cases[1]);
  const Case legacy = parse_case_name("gpt2_step/fp32/gpt2/np2/buckets=legacy/bucket-mb=5");
  EXPECT_EQ(without_communication(record, legacy), &record.cases[1]);
  for (const char* name : {"gpt2_step/bf16/gpt2/np2", "gpt2_step/fp32/gpt2/np4",
                           "gpt2_step/fp32/gpt2/np2/batch=8", "all_reduce/float32/sum/1GiB/np2"}) {
    EXPECT_EQ(without_communication(record, parse_case_name(name)), nullptr) << name;
  }
  record.cases.pop_back();
  EXPECT_FALSE(exposed_communication(record, record.cases[0], 0).has_value());
}

TEST(ExposedCommunication, IsNotedOfEveryTrainingThatCommunicates) {
  Record record = three_launches();
  for (CaseResult& result : record.cases) result.variants[0].training.emplace();
  note_exposed_communication(record);
  EXPECT_NEAR(record.cases[0].variants[0].training->exposed_s.value(), 0.002, 1e-12);
  EXPECT_FALSE(record.cases[1].variants[0].training->exposed_s.has_value());
}

/// One launch, with blocks of each step that took so long.
Record one_launch(const std::vector<double>& ddp, const std::vector<double>& none) {
  Record record = run_of({{kDdp, "p2p", {}}, {kNone, "p2p", {}}});
  for (const std::vector<double>* blocks : {&ddp, &none}) {
    for (std::size_t round = 0; round < blocks->size(); ++round) {
      Sample sample;
      sample.round = static_cast<int>(round);
      sample.seconds = {(*blocks)[round]};
      record.cases[blocks == &ddp ? 0 : 1].samples.push_back(sample);
    }
  }
  return record;
}

ExposedCommunication exposed_of(const Record& record) {
  return exposed_communication(record, record.cases[0], 0).value();
}

void expect_interval(const ExposedCommunication& exposed, double low, double high) {
  ASSERT_TRUE(exposed.low && exposed.high);
  EXPECT_NEAR(exposed.low->value, low, 1e-12);
  EXPECT_NEAR(exposed.high->value, high, 1e-12);
}

void expect_interval(const ExposedCommunication& exposed, const SignedRankEstimate& difference) {
  expect_interval(exposed, difference.low.value(), difference.high.value());
}

// Means 12.4 and 12, squared errors of them 0.86 and 0.5, 7.4 degrees of freedom.
TEST(ExposedCommunication, HasTheIntervalOfBlocks) {
  const std::vector<double> ddp{10, 15, 11, 14, 12};
  const std::vector<double> none{14, 10, 13, 11, 12};
  const ExposedCommunication exposed = exposed_of(one_launch(ddp, none));
  EXPECT_NEAR(exposed.time.value, 0.0, 1e-12);
  expect_interval(exposed, welch_difference(none, ddp));
  EXPECT_NEAR(exposed.low->value, 0.4 - 2.365 * std::sqrt(1.36), 1e-3);
  EXPECT_TRUE(exposed.may_be_zero());
  EXPECT_FALSE(exposed_of(one_launch({20, 25, 21, 24, 22}, none)).may_be_zero());
  EXPECT_FALSE(exposed_of(one_launch({1, 2, 3, 4, 5}, none)).may_be_zero())
      << "less than nothing is told from nothing, too";
}

TEST(ExposedCommunication, HasNoIntervalOfTooFewBlocks) {
  const ExposedCommunication exposed = exposed_of(one_launch({1, 2, 3}, {3}));
  EXPECT_NEAR(exposed.time.value, -1.0, 1e-12);
  EXPECT_FALSE(exposed.low || exposed.high || exposed.may_be_zero());
}

// As estimate_ratio() does: blocks that drift are not as many observations as they are blocks.
TEST(ExposedCommunication, AveragesBlocksThatAreCorrelated) {
  std::vector<double> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(10.0 + 0.1 * i);
  ASSERT_GT(lag1_autocorrelation(blocks), kCorrelationLimit);
  const std::vector<double> none{1.0, 2.0, 3.0, 4.0, 5.0};
  const SignedRankEstimate grouped = welch_difference(none, group_means(blocks, 2));
  ASSERT_NE(grouped.low, welch_difference(none, blocks).low);
  expect_interval(exposed_of(one_launch(blocks, none)), grouped);
}

TEST(ExposedCommunication, TakesALaunchForOneValue) {
  const ExposedCommunication exposed = exposed_of(three_launches());
  const SignedRankEstimate mean = student_mean(std::vector<double>{0.001, 0.002, 0.009});
  expect_interval(exposed, mean.low.value(), mean.high.value());
  EXPECT_TRUE(exposed.may_be_zero());
}

// The median of these launches lies outside the t interval of their mean.
TEST(ExposedCommunication, LiesWithinItsInterval) {
  std::vector<double> launches(7, 1.0);
  launches.insert(launches.end(), 5, 1.5);
  const SignedRankEstimate mean = student_mean(launches);
  ASSERT_GT(mean.low.value(), 1.0);
  for (double& launch : launches) launch += 1.0;
  expect_interval(exposed_of(run_of({{kDdp, "p2p", launches},
                                     {kNone, "p2p", std::vector<double>(launches.size(), 1.0)}})),
                  1.0, mean.high.value());
}

TEST(ExposedCommunication, IsNotedWithItsInterval) {
  Record record = one_launch({10, 15, 11, 14, 12}, {14, 10, 13, 11, 12});
  TrainingResult& training = record.cases[0].variants[0].training.emplace();
  note_exposed_communication(record);
  EXPECT_NEAR(training.exposed_low_s.value(), 0.4 - 2.365 * std::sqrt(1.36), 1e-3);
  EXPECT_NEAR(training.exposed_high_s.value(), 0.4 + 2.365 * std::sqrt(1.36), 1e-3);
}

TEST(TimeOfAllSteps, IsThatOfTheStepsThatWereAskedFor) {
  Settings settings;
  EXPECT_DOUBLE_EQ(time_of_all_steps(settings, Seconds{0.5}).value, 100.0) << "the page's 200";
  settings.training = TrainingPlan{.steps = 30, .tokens = {}};
  EXPECT_DOUBLE_EQ(time_of_all_steps(settings, Seconds{0.5}).value, 15.0);
}

}  // namespace
}  // namespace linkgain::test
