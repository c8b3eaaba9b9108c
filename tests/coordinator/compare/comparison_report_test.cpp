#include "linkgain/compare/comparison_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "bridge_runs.hpp"
#include "support/golden.hpp"

namespace linkgain {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace linkgain::test;

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

std::string text_of(const RunFigures& before, const RunFigures& after,
                    Metric metric = Metric::time) {
  return comparison_report({compare_runs(before, after, {})}, metric, TableStyle::text);
}

TEST(ComparisonReport, HasThePagesTableOfATraining) {
  const RunFigures before = training_run("before.json", false);
  const RunFigures after = training_run("after.json", true);
  expect_golden(
      comparison_report({compare_runs(before, after, {})}, Metric::time, TableStyle::markdown),
      "comparison_training.md");
}

TEST(ComparisonReport, HoldsOneStepAgainstAnotherWhereThereWereNotAsMany) {
  const RunFigures before = training_run("before.json", false);
  RunFigures after = training_run("after.json", true);
  after.settings.training->steps = 100;
  EXPECT_THAT(text_of(before, after),
              AllOf(HasSubstr("  NVLink      GPT-2 124M, a step, ddp, fp32  Path\n"
                              "  Before (N)                       657.2 ms  host memory\n"
                              "  After (Y)                        509.5 ms  NVLink\n"),
                    HasSubstr("After, a step of the same training takes 22 % less time"),
                    HasSubstr("different numbers of steps (200, 100): time is that of one"),
                    HasSubstr("steps of a training: 200 → 100"), Not(HasSubstr("Loss"))));
}

TEST(ComparisonReport, ShowsLossesOfTheSameTrainingOnly) {
  const RunFigures before = training_run("before.json", false);
  RunFigures after = training_run("after.json", true);
  after.cases[0].training->last_loss = 7.53;
  EXPECT_THAT(text_of(before, after),
              HasSubstr("Loss after the last block: 7.529 before, 7.530 after."));
  after.settings.training->tokens = "wiki.bin";
  EXPECT_THAT(text_of(before, after), AllOf(HasSubstr("not the same tokens in each\nrun. Time is"),
                                            HasSubstr("tokens of a training: generated → wiki.bin"),
                                            Not(HasSubstr("Loss"))));
  after.settings.training->tokens.clear();
  after.cases[0].training->steps = 150;  // the budget was used up
  EXPECT_THAT(text_of(before, after), Not(HasSubstr("Loss")));
}

TEST(ComparisonReport, GivesATrainingNoBandwidth) {
  const RunFigures before = training_run("before.json", false);
  const RunFigures after = training_run("after.json", true);
  const std::string text = text_of(before, after, Metric::busbw);
  EXPECT_THAT(text,
              AllOf(HasSubstr("\n  gpt2_step fp32 gpt2       p2p                               "),
                    HasSubstr("131.4 s  host memory"), HasSubstr("10.6 GB/s")));
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
      HasSubstr("does not take less time, it takes 25 % longer (0.80x, 95 % CI 0.80x to 0.80x)"));
  const RunFigures nothing = two_titans("empty.json", true);
  EXPECT_THAT(
      comparison_report({compare_runs(nothing, run, {})}, Metric::time, TableStyle::text),
      AllOf(HasSubstr("No case was measured on both sides."), HasSubstr("not in empty.json")));
  EXPECT_EQ(
      text_of(nothing, nothing),
      "Before: empty.json (2026-11-20T16:40:00Z)\n\nAfter: empty.json (2026-11-20T16:40:00Z)\n\n"
      "What changed\n  - nothing that both runs tell of\n\nNeither run has a case to compare.\n");
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
