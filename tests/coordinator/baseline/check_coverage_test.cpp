// How often the 95 % intervals of a check hold the truth, in simulations of whole runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "linkgain/baseline/regression.hpp"
#include "support/simulated_runs.hpp"

namespace linkgain::test {
namespace {

/// At least 16 shifts each: three standard errors of all are the 2 % that they may be off.
constexpr unsigned kPairs = 80;

class CheckCoverage : public ::testing::TestWithParam<Behaviour> {};

/// Checks unchanged runs, so that every shift is 0.
TEST_P(CheckCoverage, OfShifts) {
  std::map<std::string, Count> counts;
  for (unsigned seed = 1; seed <= kPairs; ++seed) {
    const std::vector<NamedRecord> before{{"before", SimulatedRun(GetParam(), 2 * seed).measure()}};
    const Baseline baseline = baseline_of(launch_medians(before), {-0.05, 0.05});
    const std::vector<NamedRecord> after{
        {"after", SimulatedRun(GetParam(), 2 * seed + 1).measure()}};
    for (const CaseCheck& check : check_launches(launch_medians(after), baseline).cases) {
      if (check.definition.training && !uses_link(check.definition)) continue;  // in one variant
      ASSERT_TRUE(check.interval.has_value());
      counts[fmt::format("{}, {}", class_of(check.definition), check.variant)].add(
          check.interval->holds(0.0));
    }
  }
  expect_near_95_percent(counts);
}

INSTANTIATE_TEST_SUITE_P(Machines, CheckCoverage, ::testing::ValuesIn(simulated_machines()));

}  // namespace
}  // namespace linkgain::test
