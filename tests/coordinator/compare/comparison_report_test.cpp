#include "linkgain/compare/comparison_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "bridge_runs.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ComparisonReport, TellsWhatABridgeIsWorth) {
  const RunFigures before = before_bridge();
  const RunFigures after = after_bridge();
  const RunComparison comparison = compare_runs(before, after, {});
  expect_golden(to_markdown(comparison_report(comparison, Metric::time)), "comparison_bridge.md");
}

TEST(ComparisonReport, FitsATerminal) {
  const RunFigures before = before_bridge();
  const RunFigures after = after_bridge();
  const RunComparison comparison = compare_runs(before, after, {});
  expect_golden(to_terminal(comparison_report(comparison, Metric::busbw)), "comparison_bridge.txt");
}

TEST(ComparisonReport, FitsNarrowTerminals) {
  const RunFigures before = before_bridge();
  const RunFigures after = after_bridge();
  const RunComparison comparison = compare_runs(before, after, {});
  for (const std::size_t width : {std::size_t{60}, std::size_t{80}, kAnyColumns}) {
    std::istringstream lines(
        to_terminal(comparison_report(comparison, Metric::busbw), {.columns = width}));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_width(line), std::min(width, kTerminalColumns)) << line;
    }
  }
}

std::string text_of(const RunFigures& before, const RunFigures& after,
                    Metric metric = Metric::time) {
  return to_terminal(comparison_report(compare_runs(before, after, {}), metric));
}

TEST(ComparisonReport, HasThePagesTableOfATraining) {
  const RunFigures before = training_run("before.json", false);
  const RunFigures after = training_run("after.json", true);
  expect_golden(to_markdown(comparison_report(compare_runs(before, after, {}), Metric::time)),
                "comparison_training.md");
}

TEST(ComparisonReport, ComparesTrainingsThatWereNotTheSame) {
  const RunFigures before = training_run("before.json", false);
  const RunFigures like = training_run("after.json", true);
  Situations texts;
  RunFigures after = like;
  after.settings.training->steps = 100;
  texts.add("another number of steps", text_of(before, after));
  after = like;
  after.cases[0].training->last_loss = 7.53;
  texts.add("another loss", text_of(before, after));
  after.settings.training->tokens = "wiki.bin";
  texts.add("other tokens", text_of(before, after));
  expect_golden(texts.text(), "comparison_trainings.txt");
  after = like;
  after.cases[0].training->steps = 150;
  EXPECT_THAT(text_of(before, after), Not(HasSubstr("7.529"))) << "the budget was used up";
}

TEST(ComparisonReport, GivesATrainingNoBandwidth) {
  const RunFigures before = training_run("before.json", false);
  const RunFigures after = training_run("after.json", true);
  const std::string text = text_of(before, after, Metric::busbw);
  EXPECT_THAT(text,
              AllOf(HasSubstr("\n  gpt2_step fp32 gpt2       p2p                               "),
                    HasSubstr("131.4 s  host memory"), HasSubstr("10.6 GB/s")));
}

TEST(ComparisonReport, SaysWhatIsInconclusive) {
  const RunFigures run = before_bridge();
  RunFigures steady = run;
  steady.cases = {timed(kLarge, "p2p", launches_around(1.0, 0.001, 8))};
  RunFigures slower = steady;
  slower.cases = {timed(kLarge, "p2p", launches_around(1.25, 0.001, 8))};
  const RunFigures nothing = two_titans("empty.json", true);
  RunFigures more = run;
  for (const char* size : {"1KiB", "2KiB", "4KiB", "8KiB"}) {
    const std::string name = "all_reduce/float32/sum/" + std::string(size) + "/np2";
    more.cases.push_back(timed(name, "p2p", {1.0}));
  }
  RunFigures after = after_bridge();
  after.name = "a/folder/whose/name/is/long/enough/for/a/footnote/after.json";
  Situations texts;
  RunFigures single = run;
  for (CaseFigures& figures : single.cases) figures.launches.resize(1);
  texts.add("a run against itself, one launch", text_of(single, single));
  texts.add("a run against itself, eight launches", text_of(steady, steady));
  texts.add("slower", text_of(steady, slower));
  slower.cases[0].disturbance = {.samples = 12, .level_change = 1.25};
  texts.add("slower, beside others' work", text_of(steady, slower));
  RunFigures uneven = steady;
  uneven.cases.push_back(timed(kSmall, "p2p", launches_around(1.0, 0.001, 12)));
  RunFigures as_many = uneven;
  as_many.cases[0] = timed(kLarge, "p2p", launches_around(1.0, 0.001, 6));
  texts.add("launches that differ from case to case", text_of(uneven, as_many));
  texts.add("nothing before", text_of(nothing, run));
  texts.add("nothing on both sides", text_of(nothing, nothing));
  texts.add("four cases that one run lacks are one row", text_of(more, after));
  expect_golden(texts.text(), "comparison_situations.txt");
}

TEST(ComparisonReport, OfProgramsHasTheirMetrics) {
  const auto program = [](double seconds, double tokens) {
    RunFigures run = run_with("a", {});
    run.settings.backend = BackendKind::exec;
    run.settings.program.emplace().command = {"train"};
    for (const auto& [name, value] :
         {std::pair{"exec/time", seconds}, std::pair{"exec/tokens/higher", 1.0 / tokens}}) {
      run.cases.push_back(timed(name, "p2p", launches_around(value, 0.01, 8)));
      run.cases.back().busbw.reset();
      run.cases.back().algbw.reset();
    }
    return run;
  };
  const RunFigures before = program(100.0, 2000.0);
  RunFigures after = program(80.0, 2500.0);
  Situations texts;
  texts.add("faster", text_of(before, after));
  RunFigures other = after;
  other.settings.program->command = {"test"};
  texts.add("another program", text_of(before, other));
  after.cases.resize(1);
  after.cases[0] = timed("exec/time", "p2p", launches_around(101.0, 0.05, 8));
  after.cases[0].busbw.reset();
  after.cases[0].algbw.reset();
  texts.add("inconclusive, and a metric less", text_of(before, after, Metric::algbw));
  texts.add("beside a run of operations", text_of(after_bridge(), before));
  expect_golden(texts.text(), "comparison_programs.txt");
  EXPECT_THAT(text_of(before, program(100.0, 1500.0)), HasSubstr("tokens (p2p), 25 % lower ("));
  EXPECT_THAT(text_of(before, program(100.0, 2500.0)), HasSubstr("tokens (p2p), 25 % higher ("));
}

TEST(ComparisonReport, ShowsTheBandwidthThatIsAskedFor) {
  const RunFigures run = run_with("a", {timed("all_gather/float32/1GiB/np2", "p2p", {1.0})});
  EXPECT_THAT(text_of(run, run, Metric::algbw), HasSubstr("1.07 GB/s  1.07 GB/s"));
  EXPECT_THAT(text_of(run, run, Metric::busbw), HasSubstr("0.537 GB/s  0.537 GB/s"));
}

TEST(ComparisonReport, SaysThatNothingChanged) {
  RunFigures run = run_with("a", {timed(kLarge, "p2p", launches_around(1.0, 0.001, 8)),
                                  timed(kSmall, "p2p", launches_around(1.0, 0.2, 8))});
  run.started.clear();
  RunFigures failed = run;
  for (CaseFigures& figures : failed.cases) {
    figures.no_time = "wrong data: 1 of 8 elements";
    figures.wrong_data = true;
  }
  Situations answers;
  answers.add("one is inconclusive", text_of(run, run));
  answers.add("no case can be compared", text_of(run, failed));
  expect_golden(answers.text(), "comparison_unchanged.txt");
}

TEST(ComparisonCsv, HasARowForEachCase) {
  const RunFigures before = before_bridge();
  RunFigures after = after_bridge();
  after.cases[0].disturbance = {.samples = 12, .level_change = 1.25};
  expect_golden(comparison_csv(compare_runs(before, after, {})), "comparison_bridge.csv");
}

}  // namespace
}  // namespace linkgain::test
