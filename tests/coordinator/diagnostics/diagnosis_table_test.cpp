#include "linkgain/diagnostics/diagnosis_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "linkgain/tables/text_lines.hpp"
#include "sample_diagnoses.hpp"
#include "support/golden.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using enum CheckVerdict;
using enum CheckVerdict;
using enum CheckGroup;
using test::healthy_server;
using test::sick_workstation;

TEST(DiagnosisTable, OfASickWorkstation) {
  expect_golden(diagnosis_table(sick_workstation(), {}), "diagnosis_sick.txt");
}

TEST(DiagnosisTable, ShowsWhatIsOkWhereAsked) {
  expect_golden(diagnosis_table(sick_workstation(), {.verbose = true}), "diagnosis_verbose.txt");
}

TEST(DiagnosisTable, OfANarrowTerminal) {
  expect_golden(diagnosis_table(sick_workstation(), {.width = 60}), "diagnosis_narrow.txt");
}

TEST(DiagnosisTable, TellsOfAMissingBridgeAgain) {
  Diagnosis diagnosis = sick_workstation();
  const auto last_lines = [&] {
    const std::string text = diagnosis_table(diagnosis, {});
    return text.substr(text.rfind("not checkable"));
  };
  EXPECT_THAT(last_lines(), Not(HasSubstr("nvlink-links")));
  EXPECT_THAT(last_lines(), Not(HasSubstr("temperature"))) << "another warning";
  for (Finding& finding : diagnosis.findings) {
    if (finding.id != "nvlink-links") continue;
    finding.verdict = warning;
    finding.value = "0 of 4 links active: no bridge is seen";
  }
  EXPECT_THAT(last_lines(), HasSubstr("\n  warning: nvlink-links, GPU0, GPU1: 0 of 4 links"));
}

TEST(DiagnosisTable, OfAHealthyServer) {
  expect_golden(diagnosis_table(healthy_server(), {}), "diagnosis_healthy.txt");
}

/// Without what a terminal takes for colour.
std::string without_color(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      i = text.find('m', i);
    } else {
      plain += text[i];
    }
  }
  return plain;
}

TEST(DiagnosisTable, ColourChangesNothingElse) {
  const std::string colored = diagnosis_table(sick_workstation(), {.color = true});
  EXPECT_THAT(colored, HasSubstr("\033["));
  EXPECT_EQ(without_color(colored), diagnosis_table(sick_workstation(), {}));
}

TEST(DiagnosisTable, NoLineIsLongerThanAScreen) {
  for (const std::size_t width : {std::size_t{60}, std::size_t{80}, kAnyColumns}) {
    std::string text = diagnosis_table(sick_workstation(), {.verbose = true, .width = width});
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      const std::string line = text.substr(0, end);
      EXPECT_LE(display_width(line), std::min(width, std::size_t{100})) << line;
      EXPECT_FALSE(line.ends_with(' ')) << "blank at the end: " << line;
      text.erase(0, end + 1);
    }
  }
}

TEST(DiagnosisTable, OfNothing) {
  expect_golden(diagnosis_table({"h", "t", {}, {}}, {}), "diagnosis_empty.txt");
}

TEST(DiagnosisRows, JoinOnlyWhatIsAlike) {
  const auto rows = diagnosis_rows(sick_workstation(), power);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].finding.verdict, problem) << "the worst first";
  EXPECT_THAT(rows[1].subjects, ElementsAre("GPU0"));
  const auto links = diagnosis_rows(sick_workstation(), connectivity);
  ASSERT_EQ(links.size(), 3U);
  EXPECT_THAT(links[1].subjects, ElementsAre("GPU0", "GPU1"));
}

TEST(DiagnosisRows, NameSubjects) {
  EXPECT_EQ(readable_subjects({"host"}), "host");
  EXPECT_EQ(readable_subjects({"GPU3"}), "GPU3");
  EXPECT_EQ(readable_subjects({"GPU0", "GPU1"}), "GPU0, GPU1");
  EXPECT_EQ(readable_subjects({"GPU0", "GPU1", "GPU2"}), "GPU0 to GPU2");
  EXPECT_EQ(readable_subjects({"GPU9", "GPU10", "GPU0", "GPU11"}), "GPU0, GPU9 to GPU11");
  EXPECT_EQ(readable_subjects({"GPU0-GPU1", "GPU0-GPU2", "GPU1-GPU2"}),
            "GPU0-GPU1, GPU0-GPU2, GPU1-GPU2");
  EXPECT_EQ(readable_subjects({"GPU0-GPU1", "GPU0-GPU2", "GPU1-GPU2", "GPU0-GPU3"}), "4 pairs");
}

TEST(DiagnosisRows, WrapAtBlanks) {
  EXPECT_THAT(wrapped("a bc  def", 4), ElementsAre("a bc", "def"));
  EXPECT_THAT(wrapped("longer than", 4), ElementsAre("longer", "than"));
  EXPECT_THAT(wrapped("5 °C", 4), ElementsAre("5 °C")) << "characters count, not bytes";
  EXPECT_THAT(wrapped("", 4), IsEmpty());
  EXPECT_THAT(wrapped("is ::error:: it", 4), ElementsAre("is ::error::", "it"))
      << "a command to GitHub's runners where a line begins with it";
}

}  // namespace
}  // namespace linkgain::test
