#include <gtest/gtest.h>

#include <string>

#include "linkgain/base/text.hpp"
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

Baseline weak_baseline() {
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
  return baseline;
}

TEST(BaselineSummary, ShowsPoolsAndWarnings) {
  expect_golden(to_terminal(baseline_summary(weak_baseline())), "baseline.txt");
}

TEST(BaselineSummary, LeavesColumnsOutWhereATerminalIsNarrow) {
  std::string text;
  for (const std::size_t width : {60U, 80U}) {
    const std::string summary = to_terminal(baseline_summary(weak_baseline()), {.columns = width});
    for (const std::string& line : split(summary, '\n')) {
      EXPECT_LE(display_width(line), width) << line;
    }
    text += summary;
  }
  expect_golden(text, "baseline_narrow.txt");
}

}  // namespace
}  // namespace linkgain::test
