#include "linkgain/formats/diagnosis_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/diagnostics/sample_diagnoses.hpp"
#include "support/golden.hpp"
#include "support/other_readers.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(DiagnosisJunit, HasATestCaseForEachFinding) {
  expect_golden(diagnosis_junit(sick_workstation()), "doctor.xml");
}

TEST(DiagnosisJunit, IsReadByAnXmlParser) {
  if (!is_on_path("python3")) GTEST_SKIP() << "no python3 on PATH";
  EXPECT_EQ(junit_as_parsed(diagnosis_junit(sick_workstation())),
            "testsuites 14 2 2 14 2 2\ngpu-driver host\n'linkgain.doctor.gpus'\n");
}

TEST(DiagnosisPrometheus, HasASeverityForEachFindingAndEveryNumber) {
  Diagnosis diagnosis = sick_workstation();
  diagnosis.findings.push_back({CheckGroup::gpus, "neighbours", "GPU0", CheckVerdict::ok,
                                quantity("busy", Unit::percent, 3.0) + " busy", "", ""});
  diagnosis.findings.push_back({CheckGroup::gpus, "xid", "GPU0", CheckVerdict::ok,
                                "last " + quantity("Xid 31 last", Unit::seconds, 90.0), "", ""});
  diagnosis.findings.push_back({CheckGroup::connectivity, "nvlink-rate", "GPU0", CheckVerdict::ok,
                                quantity("link", Unit::gb_per_s, 14.0625, 4), "", ""});
  expect_golden(diagnosis_prometheus(diagnosis), "doctor.prom");
}

TEST(DiagnosisPrometheus, HasNoSeriesTwice) {
  EXPECT_THAT(series_twice(diagnosis_prometheus(healthy_server())), IsEmpty());
}

/// Covers two Xid errors of one GPU, which are two findings of one check.
TEST(DiagnosisPrometheus, HasTheWorstOfSeveralFindingsOfOneSubject) {
  Diagnosis diagnosis;
  for (const CheckVerdict verdict : {CheckVerdict::problem, CheckVerdict::warning}) {
    diagnosis.findings.push_back({CheckGroup::gpus, "xid", "GPU0", verdict,
                                  quantity("Xid 145", Unit::count, 2) + " times", "", ""});
  }
  const std::string text = diagnosis_prometheus(diagnosis);
  EXPECT_THAT(series_twice(text), IsEmpty());
  EXPECT_THAT(text, HasSubstr("severity{check=\"xid\",group=\"gpus\",subject=\"GPU0\"} 2\n"));
}

TEST(DiagnosisPrometheus, LeavesOutWhatCouldNotBeChecked) {
  const std::string text = diagnosis_prometheus(healthy_server());
  EXPECT_THAT(text, HasSubstr("\nlinkgain_doctor_findings{verdict=\"not checkable\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("check=\"xid\"")));
}

/// Shows a node without its driver, which has no problem that a check could name.
TEST(DiagnosisPrometheus, CountsGpusThatRespond) {
  Diagnosis diagnosis = sick_workstation();
  EXPECT_THAT(diagnosis_prometheus(diagnosis), HasSubstr("\nlinkgain_doctor_gpus 2\n"));
  std::erase_if(diagnosis.findings, [](const Finding& each) { return each.id == "gpu-responds"; });
  EXPECT_THAT(diagnosis_prometheus(diagnosis), HasSubstr("\nlinkgain_doctor_gpus 0\n"));
  std::erase_if(diagnosis.findings, [](const Finding& each) { return each.id == "gpu-driver"; });
  EXPECT_THAT(diagnosis_prometheus(diagnosis), Not(HasSubstr("linkgain_doctor_gpus"))) << "--only";
}

TEST(DiagnosisPrometheus, PassesPromtool) {
  if (!has_promtool()) GTEST_SKIP() << kNoPromtool;
  for (const Diagnosis& diagnosis : {sick_workstation(), healthy_server(), Diagnosis{}}) {
    EXPECT_EQ(promtool_complaints(diagnosis_prometheus(diagnosis)), "");
  }
}

}  // namespace
}  // namespace linkgain::test
