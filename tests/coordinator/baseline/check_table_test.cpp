#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/base/text.hpp"
#include "linkgain/baseline/check_report.hpp"
#include "sample_checks.hpp"
#include "support/golden.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CheckTable, PutsWhatFailsFirst) {
  expect_golden(to_terminal(check_table(troubled_check())), "check.txt");
}

TEST(CheckTable, PutsWhatIsMissingInOneRow) {
  expect_golden(to_terminal(check_table(sparse_check())), "check_sparse.txt");
}

TEST(CheckTable, LeavesColumnsOutWhereATerminalIsNarrow) {
  std::string text;
  for (const std::size_t width : {60U, 80U}) {
    const std::string table = to_terminal(check_table(troubled_check()), {.columns = width});
    for (const std::string& line : split(table, '\n'))
      EXPECT_LE(display_width(line), width) << line;
    text += table + "\n";
  }
  expect_golden(text, "check_narrow.txt");
}

TEST(CheckTable, IsShortWhereNothingFails) {
  CheckResult open = quiet_check();
  open.cases[1].verdict = Verdict::inconclusive;
  open.cases[1].settling = Settling{12, true};
  expect_golden(to_terminal(check_table(quiet_check())) + "\n" + to_terminal(check_table(open)),
                "check_quiet.txt");
}

/// Shows how far the false-alarm rate reaches: a check of launches says nothing of runs.
TEST(CheckTable, SaysWhetherRunsCount) {
  CheckResult result = quiet_check();
  const std::string launches = to_terminal(check_table(result));
  result.cases[1].replicate = Replicate::run;
  result.cases[1].verdict = Verdict::inconclusive;
  result.cases[1].settling = Settling{5, true};
  const std::string some = to_terminal(check_table(result));
  result.cases[0].replicate = Replicate::run;
  result.cases[1].settling.reset();
  expect_golden(launches + "\n" + some + "\n" + to_terminal(check_table(result)), "check_runs.txt");
}

TEST(CheckTable, ShowsWhatDoesNotDecide) {
  CheckResult result = quiet_check();
  result.cases.push_back(sample_check(0, "p2p", Verdict::slower, 12.0, 0.08, 0.011));
  result.cases[2].definition = program_case({.name = std::string(ProgramMetric::kTime)});
  result.cases[2].reasons = {{.kind = Reason::Kind::not_asked_for}};
  expect_golden(to_terminal(check_table(result)), "check_not_asked_for.txt");
}

TEST(CheckTable, MarksNoProgramAsOfALargestSize) {
  CheckResult result = quiet_check();
  result.cases = {sample_check(0, "p2p", Verdict::slower, 12.0, 0.08, 0.011)};
  result.cases[0].headline = true;
  EXPECT_NE(to_terminal(check_table(result)).find('*'), std::string::npos);
  result.cases[0].definition = program_case({.name = std::string(ProgramMetric::kTime)});
  EXPECT_EQ(to_terminal(check_table(result)).find('*'), std::string::npos);
}

TEST(CheckMarkdown, HasAHeadingAndATable) {
  expect_golden(to_markdown(check_report(troubled_check())), "check.md");
}

TEST(CheckMarkdown, OfAQuietCheckHasNoTable) {
  EXPECT_THAT(to_markdown(check_report(quiet_check())),
              AllOf(HasSubstr("## linkgain check: PASSED\n"), Not(HasSubstr("|"))));
}

TEST(CheckTable, SaysThatARateIsComparedByTheTimePerUnit) {
  CheckResult result = quiet_check();
  result.cases.push_back(sample_check(8, "p2p", Verdict::slower, 0.001, 1.0 / 0.7 - 1.0, 0.012));
  result.cases.back().definition = parse_case_name("exec/tokens/higher");
  expect_golden(to_terminal(check_table(result)) + "\n" + check_junit(result), "check_rate.txt");
}

/// Draws what lies furthest from the baseline, and lists every case in a table.
TEST(CheckPage, ShowsEveryCaseAndItsBand) {
  const std::string page = check_page(troubled_check());
  EXPECT_THAT(page, AllOf(HasSubstr("<svg"), HasSubstr("<title>"), Not(HasSubstr("http://"))));
  for (const char* size : {"8 B", "1 MiB", "16 MiB", "64MiB", "256 MiB", "1 GiB"}) {
    EXPECT_THAT(page, HasSubstr(size));
  }
  CheckResult many = quiet_check();
  for (int i = 0; i < 40; ++i) {
    many.cases.push_back(sample_check(16LL << (i % 26), "v" + std::to_string(i), Verdict::same,
                                      1e-5, 0.001 * i, 0.01));
  }
  const std::string long_page = check_page(many);
  EXPECT_THAT(long_page, AllOf(HasSubstr("24 of 42"), HasSubstr("v39"), HasSubstr("v0")));
}

TEST(CheckCsv, HasARowForEveryCase) { expect_golden(check_csv(troubled_check()), "check.csv"); }

TEST(CheckTable, SaysOverHowManyLaunchesWhereTheyDiffer) {
  CheckResult result = troubled_check();
  result.cases.erase(result.cases.begin() + 3, result.cases.end());
  result.cases[1].launches = 8;
  expect_golden(to_terminal(check_table(result)), "check_launches.txt");
}

}  // namespace
}  // namespace linkgain::test
