// JUnit XML and Prometheus' text format, read by other programs where they are here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/baseline/check_report.hpp"
#include "sample_checks.hpp"
#include "support/golden.hpp"
#include "support/other_readers.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(CheckJunit, HasATestCaseForEachCase) {
  expect_golden(check_junit(troubled_check()), "check.xml");
}

TEST(CheckJunit, IsReadByAnXmlParser) {
  if (!test::is_on_path("python3")) GTEST_SKIP() << "no python3 on PATH";
  EXPECT_EQ(junit_as_parsed(check_junit(troubled_check())),
            "testsuites 10 5 3 10 5 3\nall_reduce/float32/sum/8B/np2\n'linkgain.p2p'\n");
}

TEST(CheckJunit, IsReadWhateverIsInIt) {
  if (!test::is_on_path("python3")) GTEST_SKIP() << "no python3 on PATH";
  EXPECT_THAT(junit_as_parsed(check_junit(hostile_check())),
              HasSubstr("testsuites 2 1 0 2 1 0\nall_reduce/float32/sum/8B/np2\n"
                        "'linkgain.a\"b\\\\c d,e:f%<g>\\ufffd'\n"));
}

/// Protects GitHub's runners, which obey such a line, whichever file it is printed from.
TEST(CheckJunit, BeginsNoLineWithTextOfOthers) {
  CheckResult result = quiet_check();
  result.sources[0].host = "a\n::error::b";
  result.cases[0].verdict = Verdict::missing;
  result.cases[0].reasons = {{.kind = Reason::Kind::no_time, .words = "skipped: \n::error::c"}};
  EXPECT_THAT(check_junit(result), Not(HasSubstr("\n::")));
}

TEST(CheckPrometheus, HasAFamilyForEachMetric) {
  expect_golden(check_prometheus(troubled_check()), "check.prom");
}

TEST(CheckPrometheus, HasNumbersOfAProgramInTheirOwnUnit) {
  CheckResult result = quiet_check();
  result.cases.resize(1);
  result.cases[0].definition =
      program_case({.name = "rate", .higher_is_better = true, .unit = "tok/s"});
  result.cases[0].time = Seconds{1.0 / 500.0};
  result.cases[0].reference = Seconds{1.0 / 400.0};
  expect_golden(check_prometheus(result), "check_program.prom");
}

TEST(CheckPrometheus, EscapesLabels) {
  EXPECT_THAT(check_prometheus(hostile_check()),
              HasSubstr("variant=\"a\\\"b\\\\c\\nd,e:f%<g>\xEF\xBF\xBD\"} 1\n"));
}

TEST(CheckPrometheus, HasNoSeriesTwiceAndHelpAndTypeOnce) {
  EXPECT_THAT(series_twice(check_prometheus(troubled_check())), IsEmpty());
}

TEST(CheckPrometheus, LeavesOutWhatIsNotKnown) {
  const std::string text = check_prometheus(troubled_check());
  EXPECT_THAT(text, Not(HasSubstr("case_time_seconds{case=\"all_reduce/float32/sum/64MiB/np2\"")));
  EXPECT_THAT(text,
              HasSubstr("case_failed{case=\"all_reduce/float32/sum/64MiB/np2\",variant=\"p2p\""
                        "} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("/16B/"))) << "it is not in the baseline";
}

TEST(CheckPrometheus, PassesPromtool) {
  if (!has_promtool()) GTEST_SKIP() << kNoPromtool;
  for (const CheckResult& result : {troubled_check(), quiet_check(), hostile_check()}) {
    EXPECT_EQ(promtool_complaints(check_prometheus(result)), "");
  }
}

}  // namespace
}  // namespace linkgain::test
