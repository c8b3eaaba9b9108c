// How often 95 % intervals hold the truth, in simulations of whole runs.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "linkgain/analysis/training_summary.hpp"
#include "support/simulated_runs.hpp"

namespace linkgain::test {
namespace {

void count(const Record& record, double true_ratio, std::map<std::string, Count>& counts) {
  for (const CaseResult& result : record.cases) {
    for (const RatioResult& each : result.ratios) {
      ASSERT_TRUE(each.ratio.interval.has_value());
      counts[class_of(result.definition)].add(each.ratio.interval->holds(true_ratio));
    }
  }
}

/// Two intervals of exposed communication each: 2.75 of their standard errors are the 3 % that one
/// machine's may be off, and 3.7 the 2 % of all machines'.
constexpr int kRuns = 200;

Count coverage_on(const Behaviour& machine) {
  std::map<std::string, Count> counts;
  Count exposed;
  for (unsigned seed = 1; seed <= kRuns; ++seed) {
    SimulatedRun run(machine, seed);
    const Record& record = run.measure();
    count(record, SimulatedRun::kRatio, counts);
    const double computing = SimulatedRun::kComputing;
    for (std::size_t variant = 0; variant < 2; ++variant) {
      const double truth =
          SimulatedRun::kStep * (variant == 1 ? SimulatedRun::kRatio : 1.0) - computing;
      const auto found = exposed_communication(record, *(record.cases.end() - 2), variant);
      EXPECT_TRUE(found && found->interval);
      exposed.add(found && found->interval && found->interval->holds(truth));
    }
  }
  expect_near_95_percent(counts);
  EXPECT_GE(exposed.share(), 0.92);
  EXPECT_LE(exposed.share(), 0.98);
  return exposed;
}

TEST(LaunchCoverage, OfRatiosAndExposedCommunication) {
  Count exposed;
  for (const Behaviour& machine : simulated_machines()) {
    SCOPED_TRACE(machine.name);
    exposed.add(coverage_on(machine));
  }
  EXPECT_GE(exposed.share(), 0.93);
  EXPECT_LE(exposed.share(), 0.97);
}

}  // namespace
}  // namespace linkgain::test
