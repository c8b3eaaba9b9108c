#include "linkgain/diagnostics/diagnosis_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "linkgain/html/page.hpp"
#include "linkgain/tables/escaping.hpp"
#include "sample_diagnoses.hpp"
#include "support/golden.hpp"

namespace linkgain::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using enum CheckVerdict;
using enum CheckGroup;
using test::healthy_server;
using test::sick_workstation;

constexpr auto kAll = [](const std::string&) { return true; };
constexpr auto kNone = [](const std::string&) { return false; };

std::string terminal_text(const Diagnosis& diagnosis, bool verbose = false,
                          const ScreenStyle& style = {.columns = kAnyColumns}) {
  return to_terminal(diagnosis_report(diagnosis, [&](const std::string&) { return verbose; }),
                     style);
}

TEST(DiagnosisReport, OfASickWorkstation) {
  expect_golden(terminal_text(sick_workstation()), "diagnosis_sick.txt");
  expect_golden(to_markdown(diagnosis_report(sick_workstation(), kAll)), "diagnosis_sick.md");
  expect_golden(to_html(diagnosis_report(sick_workstation(), kAll)), "diagnosis_sick.html");
}

TEST(DiagnosisReport, BeginsOnAPageWithItsSummary) {
  const std::string page = to_html(diagnosis_report(sick_workstation(), kNone, "<figure/>\n"));
  EXPECT_THAT(page, ContainsRegex("^<p>[1-9][0-9]* problems?, .* not checkable</p>\n<figure/>"));
  EXPECT_LT(page.find(">problem:<"), page.find(">warning:<"));
  EXPECT_THAT(page, Not(HasSubstr("Summary")));
}

TEST(DiagnosisReport, ShowsWhatIsOkWhereAsked) {
  expect_golden(terminal_text(sick_workstation(), true), "diagnosis_verbose.txt");
}

TEST(DiagnosisReport, OfANarrowTerminal) {
  expect_golden(terminal_text(sick_workstation(), true, {.columns = 60}), "diagnosis_narrow.txt");
}

TEST(DiagnosisReport, NamesEveryWarningInItsSummary) {
  Diagnosis diagnosis = sick_workstation();
  const auto last_lines = [&] {
    const std::string text = terminal_text(diagnosis);
    return text.substr(text.rfind("\nSummary\n"));
  };
  EXPECT_THAT(last_lines(), HasSubstr(", 1 warning, "));
  EXPECT_THAT(last_lines(), HasSubstr("\n  - warning: temperature (GPU1)\n"));
  for (Finding& finding : diagnosis.findings) {
    if (finding.id != "nvlink-links") continue;
    finding.verdict = warning;
    finding.value = "0 of 4 links active: no bridge is seen";
  }
  EXPECT_THAT(last_lines(),
              HasSubstr("\n  - warnings: temperature (GPU1), nvlink-links (GPU0, GPU1)\n"));
}

TEST(DiagnosisReport, OfAHealthyServer) {
  expect_golden(terminal_text(healthy_server()), "diagnosis_healthy.txt");
}

TEST(DiagnosisReport, ColourChangesNothingElse) {
  const std::string colored =
      terminal_text(sick_workstation(), true, {.columns = kAnyColumns, .color = true});
  EXPECT_THAT(colored, HasSubstr("\033["));
  EXPECT_EQ(without_escapes(colored), terminal_text(sick_workstation(), true));
}

TEST(DiagnosisReport, NoLineIsLongerThanAScreen) {
  for (const std::size_t width : {std::size_t{60}, std::size_t{80}, kAnyColumns}) {
    std::string text = terminal_text(sick_workstation(), true, {.columns = width});
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      const std::string line = text.substr(0, end);
      EXPECT_LE(display_width(line), std::min(width, kTerminalColumns)) << line;
      EXPECT_FALSE(line.ends_with(' ')) << "blank at the end: " << line;
      text.erase(0, end + 1);
    }
  }
}

TEST(DiagnosisReport, OfNothing) {
  expect_golden(terminal_text({"h", "t", {}, {}}), "diagnosis_empty.txt");
}

TEST(DiagnosisRows, JoinOnlyWhatIsAlike) {
  const auto rows = diagnosis_rows(sick_workstation(), power);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].finding.verdict, problem) << "the worst first";
  EXPECT_EQ(rows[2].finding.id, "power-brake");
  EXPECT_THAT(rows[2].subjects, ElementsAre("GPU0"));
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
