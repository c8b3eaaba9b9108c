#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/diagnostics/finding.hpp"
#include "linkgain/formats/diagnosis_files.hpp"
#include "support/sample_survey.hpp"

namespace linkgain::test {

/// Gives the words of a text that are a number and nothing else: "300" of "300 W of 700 W".
inline std::vector<std::string> numbers_in(const std::string& text) {
  static const std::regex number(R"((?:^|[ (x])(\d+(?:\.\d+)?)(?=[ ,;)]|: |:?$))");
  std::vector<std::string> numbers;
  for (std::sregex_iterator each(text.begin(), text.end(), number), end; each != end; ++each) {
    numbers.push_back((*each)[1]);
  }
  return numbers;
}

/// Takes words away that name something by a number: a version, an error, a device.
inline std::string without_names(const std::string& text) {
  static const std::regex named(
      R"((CUDA|RTX|status|runtime|NVLink|Xid|error|device|link|down: link|line|library|header|node|MPI|bench) )"
      R"(\d+(\.\d+)*((, \d+)*| of .* \d+:.*)|=\S*|\(pid [^)]*\))");
  return std::regex_replace(text, named, "");
}

/// Expects that Prometheus gets every number that a finding shows.
inline void expect_samples_of_numbers(const std::vector<Finding>& findings) {
  const std::string metrics = diagnosis_prometheus({"node", "", {}, findings});
  for (const Finding& finding : findings) {
    const std::vector<FindingNumber>& numbers = finding.value.numbers();
    const std::string text = without_names(finding.value.text());
    const bool once = text.find("once") != std::string::npos;
    EXPECT_GE(numbers.size(), numbers_in(text).size() + once) << finding.id << ": " << text;
    for (const FindingNumber& quantity : numbers) {
      const std::string series = "linkgain_doctor_" + std::string(quantity.entry().name) +
                                 "{check=\"" + finding.id + "\",group=\"" +
                                 std::string(name_of(finding.group)) + "\",subject=\"" +
                                 finding.subject + "\",what=\"" + quantity.name + "\"} ";
      EXPECT_THAT(metrics, ::testing::HasSubstr(series)) << finding.value.text();
    }
  }
}

/// Returns the finding of a check, which must be there once for the subject.
inline Finding finding_of(const Survey& survey, std::string_view id, std::string_view subject) {
  Finding found;
  int times = 0;
  const std::vector<Finding> all = check_machine(survey);
  expect_samples_of_numbers(all);
  for (const Finding& finding : all) {
    if (finding.id != id || finding.subject != subject) continue;
    found = finding;
    ++times;
  }
  EXPECT_EQ(times, 1) << id << " of " << subject;
  return found;
}

/// Expects a verdict and words in the value; what is not ok must say why and what to do.
inline void expect_finding(const Survey& survey, std::string_view id, std::string_view subject,
                           CheckVerdict verdict, const std::string& words) {
  const Finding finding = finding_of(survey, id, subject);
  EXPECT_EQ(finding.verdict, verdict)
      << id << ": " << name_of(finding.verdict) << ", " << finding.value.text();
  EXPECT_THAT(finding.value.text(), ::testing::HasSubstr(words)) << id;
  const bool bad = verdict == CheckVerdict::warning || verdict == CheckVerdict::problem;
  EXPECT_EQ(!finding.why.empty(), bad) << id;
  if (bad) {
    EXPECT_FALSE(finding.advice.empty()) << id;
  }
  if (verdict == CheckVerdict::ok) {
    EXPECT_TRUE(finding.advice.empty()) << id;
  }
}

}  // namespace linkgain::test
