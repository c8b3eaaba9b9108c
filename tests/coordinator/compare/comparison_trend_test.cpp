#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "bridge_runs.hpp"
#include "linkgain/compare/comparison_report.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string trend(const std::vector<RunFigures>& runs, TableStyle style = TableStyle::text,
                  std::size_t width = kAnyColumns) {
  std::vector<RunComparison> comparisons;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    comparisons.push_back(compare_runs(runs.front(), runs[i], {}));
  }
  return comparison_report(comparisons, Metric::time, style, width);
}

/// In Markdown, without the blanks that align columns.
std::string trend_rows_of(const std::vector<RunFigures>& runs) {
  const std::string text = trend(runs, TableStyle::markdown);
  std::string rows;
  std::unique_copy(text.begin(), text.end(), std::back_inserter(rows),
                   [](char a, char b) { return a == ' ' && b == ' '; });
  return rows;
}

CaseFigures steady(const std::string& name, double seconds) {
  return on(Path::nvlink, timed(name, "p2p", launches_around(seconds, 0.001, 8)));
}

CaseFigures wrong(CaseFigures figures) {
  figures.no_time = "wrong data: 3 of 8 elements";
  return figures;
}

TEST(ComparisonTrend, HasAColumnForEachRun) {
  RunFigures third = after_bridge();
  third.name = "later.json";
  third.cases[1] = on(Path::nvlink, timed(kLarge, "p2p", {0.1}));
  third.cases.pop_back();
  expect_golden(trend({before_bridge(), after_bridge(), third}, TableStyle::markdown),
                "comparison_trend.md");
}

TEST(ComparisonTrend, FitsATerminal) {
  const RunFigures first = run_with("monday.json", {steady(kSmall, 20e-6), steady(kLarge, 0.1)});
  RunFigures second = run_with("tuesday.json", {steady(kSmall, 18e-6), wrong(steady(kLarge, 0.1))});
  second.machine.software.driver = "590.2";
  RunFigures third = run_with("wednesday.json", {steady(kSmall, 20e-6), steady(kLarge, 0.11)});
  third.machine.software.driver = "590.2";
  third.status = RunStatus::interrupted;
  expect_golden(trend({first, second, third}), "comparison_trend.txt");
}

TEST(ComparisonTrend, OfManyRunsFitsATerminal) {
  const RunFigures run = run_with("a.json", {steady(kSmall, 20e-6), steady(kLarge, 0.1)});
  const RunFigures odd = run_with("b.json", {steady(kSmall, 20e-6), wrong(steady(kLarge, 0.1))});
  const std::string text = trend({run, run, run, odd, run, run, run, run, run, run, run, run});
  expect_golden(text, "comparison_trend_many.txt");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(display_width(line), kTerminalColumns) << line;
  }
  EXPECT_THAT(
      trend({run, run, run, run, run, run}, TableStyle::markdown),
      HasSubstr("| Run 1    | Run 2    | Run 3    | Run 4    | Run 5    | Run 6    | Spee"));
}

TEST(ComparisonTrend, OfTrainingsHasThePagesTable) {
  const RunFigures first = training_run("before.json", false);
  const RunFigures second = training_run("after.json", true);
  RunFigures third = training_run("later.json", true);
  Situations texts;
  texts.add("three trainings", trend({first, second, third}, TableStyle::markdown));
  third.settings.training->steps = 400;
  texts.add("another number of steps", trend({first, second, third}, TableStyle::markdown));
  third.cases.clear();
  texts.add("what the last run lacks is told of the one before it",
            trend({first, second, third}, TableStyle::markdown));
  expect_golden(texts.text(), "comparison_trend_trainings.md");
}

TEST(ComparisonTrend, OfTrainingsFitsANarrowTerminal) {
  constexpr std::size_t kNarrow = 60;
  const RunFigures training = training_run("before.json", false);
  RunFigures other = training_run("after.json", true);
  std::istringstream lines(trend({training, other, training}, TableStyle::text, kNarrow));
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(display_width(line), kNarrow) << line;
  other.settings.training->steps = 400;
  lines = std::istringstream(trend({training, other, training}, TableStyle::text, kNarrow));
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(display_width(line), kNarrow) << line;
}

TEST(ComparisonTrend, SaysWhatEachRunHas) {
  const RunFigures first = run_with("a.json", {steady(kLarge, 0.1)});
  const RunFigures slower = run_with("b.json", {steady(kLarge, 0.11)});
  std::vector<CaseFigures> many;
  for (const char* size : {"1MiB", "2MiB", "4MiB"}) {
    many.push_back(wrong(steady("all_reduce/float32/sum/" + std::string(size) + "/np2", 1e-3)));
  }
  const RunFigures no_times = run_with("a.json", many);
  const RunFigures once = run_with("a.json", {timed(kLarge, "p2p", {0.1})});
  RunFigures other_driver = once;
  other_driver.machine.software.driver = "590.2";
  const RunFigures nothing = run_with("a.json", {});
  Situations texts;
  texts.add("the run in the middle is slower", trend({first, slower, first}));
  texts.add("three like runs", trend({first, first, first}));
  texts.add("cases that no run has a time of", trend({no_times, no_times, no_times}));
  texts.add("another driver in between, one launch each",
            trend({once, other_driver, other_driver, once}));
  texts.add("runs without cases", trend({nothing, nothing, nothing}));
  expect_golden(texts.text(), "comparison_trend_situations.txt");
}

TEST(ComparisonTrend, TellsWhyARunInTheMiddleHasNoTime) {
  const RunFigures first = run_with("a.json", {steady(kLarge, 0.1)});
  const RunFigures second = run_with("b.json", {wrong(steady(kLarge, 0.1))});
  RunFigures third = run_with("c.json", {steady(kLarge, 0.1)});
  third.settings.backend = BackendKind::mpi;
  const std::string wrong_in_the_middle = trend_rows_of({first, second, first});
  EXPECT_THAT(wrong_in_the_middle,
              AllOf(HasSubstr("| Run 2 | | | NVLink | | not comparable | wrong data: 3 of 8 el"),
                    HasSubstr("| same | Run 2: wrong data: 3 of 8 elements |\n")));
  EXPECT_THAT(trend_rows_of({first, second, second}),
              HasSubstr("| not comparable | Runs 2, 3: wrong data: 3 of 8 elements |\n"));
  EXPECT_THAT(trend_rows_of({second, first, first}),
              HasSubstr("| not comparable | Run 1: wrong data: 3 of 8 elements |\n"));
  EXPECT_THAT(trend_rows_of({first, third, first}),
              HasSubstr("| same | Run 2: backend nccl before, mpi after |\n"));
}

TEST(ComparisonTrend, ShowsEveryTimeThatAnyRunHas) {
  std::vector<CaseFigures> many;
  for (const char* size : {"1MiB", "2MiB", "4MiB", "8MiB"}) {
    many.push_back(steady("all_reduce/float32/sum/" + std::string(size) + "/np2", 1e-3));
  }
  const RunFigures all = run_with("a.json", many);
  const RunFigures one = run_with("b.json", {many.front()});
  EXPECT_THAT(
      trend_rows_of({all, all, one}),
      HasSubstr("| all_reduce 8 MiB | p2p | 1.00 ms | 1.00 ms | | | | missing | not in Run 3 |"));
  const std::string middle_alone = trend_rows_of({one, all, one});
  EXPECT_THAT(
      middle_alone,
      AllOf(HasSubstr("| all_reduce 8 MiB | p2p | | 1.00 ms | | | | missing | not in Runs 1, 3 |"),
            HasSubstr("- Run 2: 1 same, 3 missing\n")));
  EXPECT_THAT(trend_rows_of({one, one, all, all, all}),
              HasSubstr("| missing | not in Runs 1, 2 |\n"));
  EXPECT_THAT(trend_rows_of({all, one, one, one, all}), HasSubstr("| same | not in Runs 2–4 |\n"));
}

}  // namespace
}  // namespace linkgain::test
