#include "linkgain/report/comparison_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "core/compared_runs.hpp"
#include "report/golden.hpp"

namespace linkgain {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace linkgain::testing;

CaseFigures on(Path path, CaseFigures figures) {
  figures.path = path;
  return figures;
}

RunFigures before_bridge() {
  RunFigures run = two_titans("before.json", false);
  CaseFigures wrong = timed("send_recv/float32/64MiB/np2", "p2p", {0.01});
  wrong.no_time = "wrong data: 1 of 8 elements";
  run.cases = {on(Path::host_memory, timed(kSmall, "p2p", {20e-6})),
               on(Path::host_memory, timed(kLarge, "p2p", {0.131})),
               on(Path::host_memory, timed(kLarge, "host", {0.131})), wrong,
               timed("all_reduce/float32/sum/2GiB/np2", "host", {0.262})};
  return run;
}

RunFigures after_bridge() {
  RunFigures run = two_titans("after.json", true);
  run.started = "2026-11-21T16:40:00Z";
  run.machine.software.driver = "590.2";
  run.cases = {on(Path::nvlink, timed(kSmall, "p2p", {21e-6})),
               on(Path::nvlink, timed(kLarge, "p2p", {0.101})),
               on(Path::host_memory, timed(kLarge, "host", {0.132})),
               on(Path::nvlink, timed("send_recv/float32/64MiB/np2", "p2p", {0.005}))};
  return run;
}

TEST(ComparisonReport, TellsWhatABridgeIsWorth) {
  const RunFigures before = before_bridge();
  const RunFigures after = after_bridge();
  const std::vector<RunComparison> comparisons{compare_runs(before, after, {})};
  expect_golden(comparison_report(comparisons, Metric::time, TableStyle::markdown),
                "comparison_bridge.md");
}

TEST(ComparisonReport, FitsATerminal) {
  const RunFigures before = before_bridge();
  const RunFigures after = after_bridge();
  const std::vector<RunComparison> comparisons{compare_runs(before, after, {})};
  expect_golden(comparison_report(comparisons, Metric::busbw, TableStyle::text),
                "comparison_bridge.txt");
}

TEST(ComparisonReport, OfThreeRunsIsATrend) {
  const RunFigures first = before_bridge();
  const RunFigures second = after_bridge();
  RunFigures third = after_bridge();
  third.name = "later.json";
  third.cases[1] = on(Path::nvlink, timed(kLarge, "p2p", {0.1}));
  third.cases.pop_back();
  const std::vector<RunComparison> comparisons{compare_runs(first, second, {}),
                                               compare_runs(first, third, {})};
  expect_golden(comparison_report(comparisons, Metric::time, TableStyle::markdown),
                "comparison_trend.md");
}

TEST(ComparisonReport, SaysWhatCannotBeTold) {
  const RunFigures run = before_bridge();
  const std::string same =
      comparison_report({compare_runs(run, run, {})}, Metric::time, TableStyle::text);
  EXPECT_THAT(same, AllOf(HasSubstr("nothing that both runs tell of"),
                          HasSubstr("Whether the same all-reduce takes another time after cannot"),
                          HasSubstr("one-launch"), Not(HasSubstr("NVLink"))));
  RunFigures steady = run;
  steady.cases = {timed(kLarge, "p2p", launches_around(1.0, 0.001, 8))};
  EXPECT_THAT(comparison_report({compare_runs(steady, steady, {})}, Metric::time, TableStyle::text),
              AllOf(HasSubstr("takes the same time within 2.0 % (1.00x"), HasSubstr("1 same."),
                    Not(HasSubstr("Cautions"))));
  RunFigures slower = steady;
  slower.cases = {timed(kLarge, "p2p", launches_around(1.25, 0.001, 8))};
  EXPECT_THAT(
      comparison_report({compare_runs(steady, slower, {})}, Metric::time, TableStyle::text),
      HasSubstr("does not take less time, it takes longer (0.80x, 95 % CI 0.80x to 0.80x)"));
  const RunFigures nothing = two_titans("empty.json", true);
  EXPECT_THAT(
      comparison_report({compare_runs(nothing, run, {})}, Metric::time, TableStyle::text),
      AllOf(HasSubstr("No case was measured on both sides."), HasSubstr("not in empty.json")));
  EXPECT_THROW(comparison_report({}, Metric::time, TableStyle::text), std::invalid_argument);
}

TEST(ComparisonReport, PutsWhatOneRunLacksInOneRow) {
  RunFigures before = before_bridge();
  RunFigures after = after_bridge();
  after.name = "a/folder/whose/name/is/long/enough/for/a/footnote/after.json";
  for (const char* size : {"1KiB", "2KiB", "4KiB", "8KiB"}) {
    const std::string name = "all_reduce/float32/sum/" + std::string(size) + "/np2";
    before.cases.push_back(timed(name, "p2p", {1.0}));
  }
  const std::string text =
      comparison_report({compare_runs(before, after, {})}, Metric::time, TableStyle::text);
  EXPECT_THAT(text, HasSubstr("\n  4 cases            p2p "));
  EXPECT_THAT(text, HasSubstr("after.json: all_reduce 1 KiB, all_reduce 2 KiB,\n"
                              "      all_reduce 4 KiB and 1 more\n"));
}

TEST(ComparisonCsv, HasARowForEachCase) {
  const RunFigures before = before_bridge();
  const RunFigures after = after_bridge();
  expect_golden(comparison_csv({compare_runs(before, after, {})}), "comparison_bridge.csv");
}

}  // namespace
}  // namespace linkgain
