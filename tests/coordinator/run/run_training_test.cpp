#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "linkgain/analysis/training_summary.hpp"
#include "run_support.hpp"

namespace linkgain::test {
namespace {

/// Two launches of a training and of the step without communication. In the second one everything
/// takes longer, as after a drift.
struct TrainingBench {
  explicit TrainingBench(Schedule schedule) : bench({taking(0.1), taking(0.3)}) {
    bench.plan.cases = {parse_case_name("gpt2_step/fp64/tiny/np2"),
                        parse_case_name("gpt2_step/fp64/tiny/np2/none")};
    bench.plan.training = TrainingPlan{.steps = 100, .tokens = {}};
    bench.plan.launches = 2;
    bench.plan.schedule = schedule;
    bench.script_of_launch[{0, 1}] = taking(0.2);
    bench.script_of_launch[{1, 1}] = taking(0.5);
    bench.execute();
  }

  /// Launches that a case was sampled in.
  std::set<int> launches_of(int place) const {
    std::set<int> launches;
    for (const Sample& sample : bench.record.cases.at(static_cast<std::size_t>(place)).samples) {
      launches.insert(sample.launch);
    }
    return launches;
  }

  RunBench bench;
};

// Every launch has its own step without communication: the first variant's takes as long as a step
// with, the second's 0.2 s less in the first launch and 0.3 s in the second one.
TEST(RunOfTrainings, ExposedCommunicationIsOfOneLaunch) {
  for (const Schedule schedule : kSchedules) {
    const TrainingBench trained(schedule);
    const Record& record = trained.bench.record;
    EXPECT_EQ(trained.launches_of(0), (std::set<int>{0, 1}));
    EXPECT_EQ(trained.launches_of(1), (std::set<int>{0, 1})) << "in every launch";
    const auto exposed = [&](std::size_t variant) {
      return exposed_communication(record, record.cases[0], variant).value().value;
    };
    EXPECT_NEAR(exposed(0), 0.0, 1e-12) << name_of(schedule);
    EXPECT_NEAR(exposed(1), 0.25, 1e-12) << name_of(schedule);
  }
}

/// Else a difference between variants, or to the step without communication, could be that of two
/// algorithms.
TEST(RunOfTrainings, AllMultiplyAsTheFirstJobOfAll) {
  for (const Schedule schedule : kSchedules) {
    RunBench bench({taking(0.1), taking(0.3)});
    bench.plan.cases = {parse_case_name("gpt2_step/fp64/tiny/np2"),
                        parse_case_name("gpt2_step/fp64/tiny/np2/none")};
    bench.plan.training = TrainingPlan{.steps = 100, .tokens = {}};
    bench.plan.launches = 2;
    bench.plan.schedule = schedule;
    int job = 0;
    for (const int variant : {0, 1}) {
      for (const int launch : {0, 1}) {
        FakeScript& script = bench.script_of_launch[{variant, launch}] = taking(0.1);
        script.products = {"algo " + std::to_string(++job)};
      }
    }
    bench.execute();
    std::set<std::vector<std::string>> products;
    for (const CaseResult& result : bench.record.cases) {
      for (const VariantResult& variant : result.variants) {
        if (variant.time) products.insert(variant.execution.products);
      }
    }
    ASSERT_EQ(products.size(), 1U) << name_of(schedule);
    EXPECT_EQ(products.begin()->size(), 1U);
  }
}

TEST(RunOfTrainings, AllStepsAreTakenInFewerLaunchesToo) {
  for (const Schedule schedule : kSchedules) {
    FakeScript script = taking(0.1);
    script.open_time = Seconds{5.0};
    RunBench bench({script, script});
    bench.plan.cases = {parse_case_name("gpt2_step/fp64/tiny/np2")};
    bench.plan.training = TrainingPlan{.steps = 200, .tokens = {}};
    bench.plan.launches = 6;
    bench.plan.schedule = schedule;
    bench.plan.budget = Seconds{36.0};
    bench.execute();
    const CaseResult& training = bench.record.cases[0];
    EXPECT_EQ(training.ratios.at(0).ratio.replicates, 3) << name_of(schedule);
    EXPECT_EQ(training.samples.size(), 2U * 20U);
  }
}

}  // namespace
}  // namespace linkgain::test
