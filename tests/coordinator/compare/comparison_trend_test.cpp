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

namespace linkgain {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace linkgain::test;

std::string trend(const std::vector<RunFigures>& runs, TableStyle style = TableStyle::text) {
  std::vector<RunComparison> comparisons;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    comparisons.push_back(compare_runs(runs.front(), runs[i], {}));
  }
  return comparison_report(comparisons, Metric::time, style);
}

/// In Markdown, without the blanks that align columns.
std::string rows_of(const std::vector<RunFigures>& runs) {
  const std::string text = trend(runs, TableStyle::markdown);
  std::string rows;
  std::unique_copy(text.begin(), text.end(), std::back_inserter(rows),
                   [](char a, char b) { return a == ' ' && b == ' '; });
  return rows;
}

RunFigures run_with(const std::string& name, std::vector<CaseFigures> cases) {
  RunFigures run = two_titans(name, true);
  run.cases = std::move(cases);
  return run;
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
  EXPECT_THAT(
      text, AllOf(HasSubstr("     Run 8     Run 9\n  all_reduce 64 KiB  p2p      20.00 us  20.00"),
                  HasSubstr("\n\n  Case               Variant    Run 10    Run 11    Run 12  Sp")));
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
  EXPECT_THAT(trend({first, second, third}, TableStyle::markdown),
              AllOf(HasSubstr("| NVLink    | GPT-2 124M, 200 steps, ddp, fp32 | Path        | Sp"),
                    HasSubstr("| Run 1 (N) |                          131.4 s | host memory |  "),
                    HasSubstr("| Run 3 (Y) |                          101.9 s | NVLink      |    "
                              "1.29x | faster  |"),
                    HasSubstr("In Run 3, the same training takes 22 % less time than in Run 1")));
  third.settings.training->steps = 400;
  EXPECT_THAT(trend({first, second, third}, TableStyle::markdown),
              AllOf(HasSubstr("| Run 3 (Y) |                      509.5 ms | NVLink"),
                    HasSubstr("numbers of steps (200, 200, 400)")));
  third.cases.clear();
  EXPECT_THAT(trend({first, second, third}, TableStyle::markdown),
              AllOf(HasSubstr("| Run 3     |                                  |             |  "),
                    HasSubstr("In Run 2, the same training takes 22 % less time than in Run 1"),
                    Not(HasSubstr("numbers of steps"))))
      << "what the last run lacks is told of the one before it";
}

TEST(ComparisonTrend, TellsOfARunInTheMiddleThatIsSlower) {
  const RunFigures first = run_with("a.json", {steady(kLarge, 0.1)});
  const RunFigures second = run_with("b.json", {steady(kLarge, 0.11)});
  EXPECT_THAT(
      trend({first, second, first}),
      AllOf(HasSubstr("  Run 2          110.0 ms  9.76 GB/s  NVLink     0.91x  slower\n"),
            HasSubstr("In Run 3, the same all-reduce takes the same time as in Run 1 within 2.0 %"),
            HasSubstr("  all_reduce 1 GiB  p2p      100.0 ms  110.0 ms -  100.0 ms     1.00x"),
            HasSubstr("In all, against Run 1\n  - Run 2: 1 slower\n  - Run 3: 1 same\n")));
  EXPECT_THAT(rows_of({first, second, first}),
              HasSubstr("A + marks what is faster than Run 1, a - what is slower."));
  EXPECT_THAT(trend({first, first, first}), Not(HasSubstr("marks what")))
      << "no legend for marks that are not there";
}

TEST(ComparisonTrend, TellsWhyARunInTheMiddleHasNoTime) {
  const RunFigures first = run_with("a.json", {steady(kLarge, 0.1)});
  const RunFigures second = run_with("b.json", {wrong(steady(kLarge, 0.1))});
  RunFigures third = run_with("c.json", {steady(kLarge, 0.1)});
  third.settings.backend = BackendKind::mpi;
  const std::string wrong_in_the_middle = rows_of({first, second, first});
  EXPECT_THAT(wrong_in_the_middle,
              AllOf(HasSubstr("| Run 2 | | | NVLink | | not comparable | wrong data: 3 of 8 el"),
                    HasSubstr("| same | Run 2: wrong data: 3 of 8 elements |\n")));
  EXPECT_THAT(rows_of({first, second, second}),
              HasSubstr("| not comparable | Runs 2, 3: wrong data: 3 of 8 elements |\n"));
  EXPECT_THAT(rows_of({second, first, first}),
              HasSubstr("| not comparable | Run 1: wrong data: 3 of 8 elements |\n"));
  EXPECT_THAT(rows_of({first, third, first}),
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
      rows_of({all, all, one}),
      HasSubstr("| all_reduce 8 MiB | p2p | 1.00 ms | 1.00 ms | | | | missing | not in Run 3 |"));
  const std::string middle_alone = rows_of({one, all, one});
  EXPECT_THAT(
      middle_alone,
      AllOf(HasSubstr("| all_reduce 8 MiB | p2p | | 1.00 ms | | | | missing | not in Runs 1, 3 |"),
            HasSubstr("- Run 2: 1 same, 3 missing\n")));
  EXPECT_THAT(rows_of({one, one, all, all, all}), HasSubstr("| missing | not in Runs 1, 2 |\n"));
  EXPECT_THAT(rows_of({all, one, one, one, all}), HasSubstr("| same | not in Runs 2–4 |\n"));
}

TEST(ComparisonTrend, FoldsCasesThatNoRunHasATimeOf) {
  std::vector<CaseFigures> many;
  for (const char* size : {"1MiB", "2MiB", "4MiB"}) {
    many.push_back(wrong(steady("all_reduce/float32/sum/" + std::string(size) + "/np2", 1e-3)));
  }
  const RunFigures run = run_with("a.json", many);
  EXPECT_THAT(trend({run, run, run}),
              AllOf(HasSubstr("  3 cases  p2p "), HasSubstr("No case was measured in both Run 1"),
                    HasSubstr("Runs 1–3: wrong data: 3 of 8 elements: all_reduce 1 MiB, ")));
}

TEST(ComparisonTrend, KeepsChangesAndCautionsApart) {
  const RunFigures first = run_with("a.json", {timed(kLarge, "p2p", {0.1})});
  RunFigures second = first;
  second.machine.software.driver = "590.2";
  const std::string text = trend({first, second, second, first});
  const std::string changes = text.substr(0, text.find("Cautions"));
  EXPECT_THAT(changes, AllOf(HasSubstr("What changed since Run 1\n"
                                       "  - Runs 2, 3: driver: 580.1 → 590.2\n"
                                       "  - Run 4: nothing that both runs tell of\n"),
                             Not(HasSubstr("one-launch"))));
  EXPECT_THAT(text,
              AllOf(HasSubstr("Cautions, of each run against Run 1\n  - Runs 2–4: one-launch"),
                    HasSubstr("  - Runs 2, 3: other-driver")));
}

TEST(ComparisonTrend, OfRunsWithoutCasesHasNoTable) {
  const RunFigures nothing = run_with("a.json", {});
  EXPECT_THAT(trend({nothing, nothing, nothing}),
              AllOf(HasSubstr("\n\nNone of the runs has a case to compare.\n"),
                    Not(HasSubstr("Every case")), Not(HasSubstr("Speed-up"))));
}

}  // namespace
}  // namespace linkgain
