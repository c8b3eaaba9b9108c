#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/program.hpp"

/// What other programs make of files that are written for them.
namespace linkgain::test {

/// Returns what promtool has to say against metrics in Prometheus' text format; empty if they are
/// fine. A test skips if has_promtool() is false.
inline std::string promtool_complaints(const std::string& metrics) {
  const ScratchFolder folder;
  std::ofstream(folder / "metrics.prom", std::ios::binary) << metrics;
  ProgramRequest request;
  request.arguments = {"/bin/sh", "-c", "exec promtool check metrics <metrics.prom"};
  request.directory = folder.path();
  const Outcome outcome = run_program(request);
  EXPECT_EQ(outcome.status, 0) << outcome.output << outcome.error;
  return outcome.output + outcome.error;
}

inline bool has_promtool() { return is_on_path("promtool"); }
inline constexpr const char* kNoPromtool = "no promtool on PATH (scripts/test --cluster gets it)";

/// Finds series in Prometheus' text format that stand in more than one line.
inline std::vector<std::string> series_twice(const std::string& metrics) {
  std::map<std::string, int> seen;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) ++seen[line.substr(0, line.rfind(' '))];
  std::vector<std::string> twice;
  for (const auto& [series, count] : seen) {
    if (count > 1) twice.push_back(series);
  }
  return twice;
}

/// Returns what Python's parser finds in a JUnit document: counts, then name and class of the first
/// test case. A test skips if there is no python3.
inline std::string junit_as_parsed(const std::string& document) {
  const ScratchFolder folder;
  std::ofstream(folder / "junit.xml", std::ios::binary) << document;
  ProgramRequest request;
  request.arguments = {
      "python3", "-c",
      "import sys, xml.etree.ElementTree as tree\n"
      "root = tree.parse('junit.xml').getroot()\n"
      "count = lambda name: len(root.findall('.//' + name))\n"
      "print(root.tag, count('testcase'), count('failure'), count('skipped'), root.get('tests'),\n"
      "      root.get('failures'), root.find('testsuite').get('skipped'))\n"
      "print(root.find('.//testcase').get('name'))\n"
      "print(ascii(root.find('.//testcase').get('classname')))\n"};
  request.directory = folder.path();
  const Outcome outcome = run_program(request);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  return outcome.output;
}

}  // namespace linkgain::test
