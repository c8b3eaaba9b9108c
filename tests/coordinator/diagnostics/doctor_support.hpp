#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "linkgain/diagnostics/doctor.hpp"
#include "support/sample_survey.hpp"

namespace linkgain::test {

/// The finding of a check, which must be there once for the subject.
inline Finding finding_of(const Survey& survey, std::string_view id, std::string_view subject) {
  Finding found;
  int times = 0;
  for (const Finding& finding : check_machine(survey)) {
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
      << id << ": " << name_of(finding.verdict) << ", " << finding.value;
  EXPECT_THAT(finding.value, ::testing::HasSubstr(words)) << id;
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
