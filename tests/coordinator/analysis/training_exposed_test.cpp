#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "linkgain/analysis/training_summary.hpp"
#include "support/launch_records.hpp"

namespace linkgain::test {
namespace {

const Case kDdp = parse_case_name("gpt2_step/fp32/gpt2/np2");
const Case kNone = parse_case_name("gpt2_step/fp32/gpt2/np2/none");

/// Has steps of three launches, each on a machine of another pace.
Record three_launches() {
  return run_of({{kDdp, "p2p", {0.101, 0.092, 0.104}}, {kNone, "p2p", {0.100, 0.090, 0.095}}});
}

void expect_exposed(const Record& record, std::size_t variant, double seconds) {
  const auto exposed = exposed_communication(record, record.cases[0], variant);
  ASSERT_TRUE(exposed.has_value());
  EXPECT_NEAR(exposed->value, seconds, 1e-12);
}

void forget(Record& record, int case_index, int launch) {
  std::erase_if(record.cases[static_cast<std::size_t>(case_index)].samples,
                [&](const Sample& sample) { return sample.launch == launch; });
}

// Averages 1, 2 and 9 ms.
TEST(ExposedCommunication, IsTheMeanOverLaunches) { expect_exposed(three_launches(), 0, 0.004); }

TEST(ExposedCommunication, IsOfLaunchesThatHaveBothSteps) {
  Record record = three_launches();
  forget(record, 1, 1);
  expect_exposed(record, 0, 0.005);
  forget(record, 0, 0);
  expect_exposed(record, 0, 0.009);
  forget(record, 1, 2);
  EXPECT_FALSE(exposed_communication(record, record.cases[0], 0).has_value());
}

TEST(ExposedCommunication, IsComparedWithTheFirstVariantThatComputedAlone) {
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
  EXPECT_NEAR(record.cases[0].variants[0].training->exposed.value().value, 0.004, 1e-12);
  EXPECT_FALSE(record.cases[1].variants[0].training->exposed.has_value());
}

Estimate exposed_of(const Record& record) {
  return exposed_communication(record, record.cases[0], 0).value();
}

// Expects Student's t of two degrees of freedom, and 2.517 ms as standard error of 1, 2 and 9 ms.
TEST(ExposedCommunication, TakesALaunchForOneValue) {
  const Estimate exposed = exposed_of(three_launches());
  ASSERT_TRUE(exposed.interval);
  const double half_width = 4.302653 * std::sqrt(38e-6 / 2.0 / 3.0);
  EXPECT_NEAR(exposed.interval->low, 0.004 - half_width, 1e-8);
  EXPECT_NEAR(exposed.interval->high, 0.004 + half_width, 1e-8);
  EXPECT_TRUE(exposed.may_be(0.0));
  const std::vector<double> alone{0.100, 0.090, 0.095};
  EXPECT_FALSE(
      exposed_of(run_of({{kDdp, "p2p", {0.11, 0.101, 0.106}}, {kNone, "p2p", alone}})).may_be(0.0));
  EXPECT_FALSE(
      exposed_of(run_of({{kDdp, "p2p", {0.09, 0.079, 0.084}}, {kNone, "p2p", alone}})).may_be(0.0))
      << "less than nothing is told from nothing, too";
}

TEST(ExposedCommunication, HasNoIntervalOfOneLaunch) {
  const Estimate exposed = exposed_of(run_of({{kDdp, "p2p", {0.101}}, {kNone, "p2p", {0.100}}}));
  EXPECT_NEAR(exposed.value, 0.001, 1e-12);
  EXPECT_FALSE(exposed.interval || exposed.may_be(0.0));
}

TEST(ExposedCommunication, IsNotedWithItsInterval) {
  Record record = three_launches();
  TrainingResult& training = record.cases[0].variants[0].training.emplace();
  note_exposed_communication(record);
  const Estimate exposed = exposed_of(record);
  EXPECT_EQ(training.exposed, exposed);
}

TEST(TimeOfAllSteps, IsThatOfTheStepsThatWereAskedFor) {
  Settings settings;
  EXPECT_DOUBLE_EQ(time_of_all_steps(settings, Seconds{0.5}).value, 100.0) << "the guide's 200";
  settings.training = TrainingPlan{.steps = 30, .tokens = {}};
  EXPECT_DOUBLE_EQ(time_of_all_steps(settings, Seconds{0.5}).value, 15.0);
}

}  // namespace
}  // namespace linkgain::test
