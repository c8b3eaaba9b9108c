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
            "testsuites 13 2 2 13 2 2\ngpu-driver host\n'linkgain.doctor.gpus'\n");
}

TEST(DiagnosisPrometheus, HasASeverityForEachFinding) {
  expect_golden(diagnosis_prometheus(sick_workstation()), "doctor.prom");
}

TEST(DiagnosisPrometheus, HasNoSeriesTwice) {
  EXPECT_THAT(series_twice(diagnosis_prometheus(healthy_server())), IsEmpty());
}

TEST(DiagnosisPrometheus, LeavesOutWhatCouldNotBeChecked) {
  const std::string text = diagnosis_prometheus(healthy_server());
  EXPECT_THAT(text, HasSubstr("\nlinkgain_doctor_findings{verdict=\"not checkable\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("check=\"xid\"")));
}

/// A node without its driver has no problem that a check could name.
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
