#include <gtest/gtest.h>

#include "linkgain/baseline/baseline.hpp"
#include "support/golden.hpp"

namespace linkgain::test {
namespace {

BaselineCase reference(std::int64_t bytes, const std::string& variant, int launches,
                       const std::optional<LaunchDeviation>& between_launches) {
  BaselineCase result;
  result.definition.size = Bytes{bytes};
  result.variant = variant;
  result.launches = launches;
  result.between_launches = between_launches;
  return result;
}

TEST(BaselineSummary, ShowsPoolsAndWarnings) {
  Baseline baseline;
  baseline.key.ranks = 2;
  baseline.key.gpus = {"NVIDIA H200", "NVIDIA H200"};
  baseline.key.nccl = "2.28";
  baseline.cases = {reference(8, "p2p", 8, LaunchDeviation{0.031, 40, false}),
                    reference(16, "p2p", 8, LaunchDeviation{0.031, 40, false}),
                    reference(32, "p2p", 7, LaunchDeviation{0.21, 6, true}),
                    reference(1 << 30, "p2p", 8, LaunchDeviation{0.0042, 7, false}),
                    reference(1 << 30, "host", 1, std::nullopt)};
  baseline.warnings = {{"weak-baseline", "few launches", "measure more"}};
  expect_golden(baseline_summary(baseline), "baseline.txt");
}

}  // namespace
}  // namespace linkgain::test
