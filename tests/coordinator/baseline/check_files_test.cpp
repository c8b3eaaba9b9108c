// JUnit XML and Prometheus' text format, read by other programs where they are here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "linkgain/baseline/check_report.hpp"
#include "sample_checks.hpp"
#include "support/golden.hpp"
#include "support/program.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CheckJunit, HasATestCaseForEachCase) {
  expect_golden(check_junit(troubled_check()), "check.xml");
}

/// What Python's parser finds in a document: counts, then the attributes of the first test case.
std::string parsed(const std::string& document) {
  const test::ScratchFolder folder;
  std::ofstream(folder.path() / "check.xml", std::ios::binary) << document;
  test::ProgramRequest request;
  request.arguments = {
      "python3", "-c",
      "import sys, xml.etree.ElementTree as tree\n"
      "root = tree.parse('check.xml').getroot()\n"
      "count = lambda name: len(root.findall('.//' + name))\n"
      "print(root.tag, count('testcase'), count('failure'), count('skipped'), root.get('tests'),\n"
      "      root.get('failures'), root.find('testsuite').get('skipped'))\n"
      "print(root.find('.//testcase').get('name'))\n"
      "print(ascii(root.find('.//testcase').get('classname')))\n"};
  request.directory = folder.path();
  const test::Outcome outcome = test::run_program(request);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  return outcome.output;
}

TEST(CheckJunit, IsReadByAnXmlParser) {
  if (!test::is_on_path("python3")) GTEST_SKIP() << "no python3 on PATH";
  EXPECT_EQ(parsed(check_junit(troubled_check())),
            "testsuites 10 5 3 10 5 3\nall_reduce/float32/sum/8B/np2\n'linkgain.p2p'\n");
}

TEST(CheckJunit, IsReadWhateverIsInIt) {
  if (!test::is_on_path("python3")) GTEST_SKIP() << "no python3 on PATH";
  EXPECT_THAT(parsed(check_junit(hostile_check())),
              HasSubstr("testsuites 2 1 0 2 1 0\nall_reduce/float32/sum/8B/np2\n"
                        "'linkgain.a\"b\\\\c d,e:f%<g>\\ufffd'\n"));
}

TEST(CheckPrometheus, HasAFamilyForEachMetric) {
  expect_golden(check_prometheus(troubled_check()), "check.prom");
}

TEST(CheckPrometheus, EscapesLabels) {
  EXPECT_THAT(check_prometheus(hostile_check()),
              HasSubstr("variant=\"a\\\"b\\\\c\\nd,e:f%<g>\xEF\xBF\xBD\"} 1\n"));
}

TEST(CheckPrometheus, HasNoSeriesTwiceAndHelpAndTypeOnce) {
  std::istringstream lines(check_prometheus(troubled_check()));
  std::map<std::string, int> seen;
  for (std::string line; std::getline(lines, line);) ++seen[line.substr(0, line.rfind(' '))];
  for (const auto& [series, count] : seen) EXPECT_EQ(count, 1) << series;
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
  if (!test::is_on_path("promtool")) {
    GTEST_SKIP() << "no promtool on PATH (scripts/test --cluster gets it)";
  }
  for (const CheckResult& result : {troubled_check(), quiet_check(), hostile_check()}) {
    const test::ScratchFolder folder;
    std::ofstream(folder.path() / "check.prom", std::ios::binary) << check_prometheus(result);
    test::ProgramRequest request;
    request.arguments = {"/bin/sh", "-c", "exec promtool check metrics <check.prom"};
    request.directory = folder.path();
    const test::Outcome outcome = test::run_program(request);
    EXPECT_EQ(outcome.status, 0) << outcome.output << outcome.error;
    EXPECT_EQ(outcome.output + outcome.error, "");
  }
}

}  // namespace
}  // namespace linkgain::test
