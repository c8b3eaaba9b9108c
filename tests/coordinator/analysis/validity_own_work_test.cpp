#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/analysis/run_validity.hpp"
#include "verdict_records.hpp"

/// What verdicts say of our own work, of which NCCL's logs know nothing.
namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kCopy = "copy_push/64MiB/np2/pair=0-1";
constexpr const char* kKernel = "all_reduce/float32/sum/64MiB/np2/kernel";

CaseResult own_case(const char* name, Path first, Path other) {
  CaseResult result = case_of(64 << 20, first, other);
  result.definition = parse_case_name(name);
  return result;
}

/// good_record() with one case of our own work alone.
Record own_record(const char* name, Path first, Path other) {
  Record record = good_record();
  record.cases = {own_case(name, first, other)};
  return record;
}

WireEvidence uncounted() {
  WireEvidence evidence;
  evidence.reason = "the driver lacks counters";
  return evidence;
}

void take_evidence(Record& record) {
  for (CaseResult& result : record.cases) {
    for (VariantResult& variant : result.variants) variant.evidence = uncounted();
  }
}

TEST(OwnWork, WithoutCountersRestsOnTheDriversWord) {
  for (const char* name : {kCopy, kKernel}) {
    Record record = own_record(name, Path::nvlink, Path::host_memory);
    take_evidence(record);
    EXPECT_EQ(judge(record), ExitCode::success);
    EXPECT_EQ(warning(record, "evidence-missing").advice,
              "the path there rests on the driver's word on P2P alone; `linkgain doctor` says "
              "which of the driver's counters can be read")
        << name;
  }
}

TEST(OwnWork, BesideNcclsIsNamedOnItsOwn) {
  Record record = good_record();
  record.cases.push_back(own_case(kCopy, Path::nvlink, Path::host_memory));
  take_evidence(record);
  judge(record);
  ASSERT_THAT(codes(record), ElementsAre("evidence-missing")) << "once per reason";
  EXPECT_THAT(record.warnings[0].advice,
              HasSubstr("rests on NCCL's transport lines (of our own work: on the driver's word on "
                        "P2P) alone;"));
  record = good_record();
  take_evidence(record);
  judge(record);
  EXPECT_THAT(warning(record, "evidence-missing").advice,
              HasSubstr("rests on NCCL's transport lines alone;"));
}

TEST(OwnWork, ThatWasCountedButNotJudgedRestsOnTheDriversWord) {
  Record record = own_record(kKernel, Path::nvlink, Path::host_memory);
  WireEvidence evidence;
  evidence.operations = 10;
  evidence.nvlink_sent = 1 << 30;
  evidence.reason = "protocol LL16, not SIMPLE";
  for (VariantResult& variant : record.cases[0].variants) variant.evidence = evidence;
  record.cases[0].variants.pop_back();
  judge(record);
  EXPECT_EQ(warning(record, "evidence-not-judged").advice,
            "no fault of the machine: the path there rests on the driver's word on P2P");
}

TEST(OwnWork, OnTheWrongPathSendsNobodyToNcclsLog) {
  Record record = own_record(kCopy, Path::host_memory, Path::host_memory);
  record.settings.environment_in_force[0] = {{"NCCL_TOPO_FILE", "mine.xml"}};
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
  EXPECT_THAT(
      warning(record, "wrong-path").advice,
      AllOf(HasSubstr("`linkgain topo` has its word on every pair"), Not(HasSubstr("NCCL"))))
      << "NCCL's files do not steer our own work";
  record = own_record(kCopy, Path::nvlink, Path::nvlink);
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
  EXPECT_THAT(warning(record, "wrong-path").advice,
              AllOf(HasSubstr("exactly 1 on every rank; our own work goes by P2P where"),
                    Not(HasSubstr("nccl.conf"))));
  record = own_record(kCopy, Path::nvlink, Path::host_memory);
  record.cases[0].variants[1].evidence = wires(0.5);
  record.settings.environment_in_force[1].erase("NCCL_NVLS_ENABLE");
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
  EXPECT_THAT(warning(record, "wrong-path").advice,
              AllOf(HasSubstr("other processes use these GPUs' links"), Not(HasSubstr("NVLS"))));
}

TEST(OwnWork, OnTheWrongPathStandsApartFromNccls) {
  Record record = good_record();
  set_path(record, 0, Path::host_memory);
  record.cases.push_back(own_case(kCopy, Path::host_memory, Path::host_memory));
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
  ASSERT_THAT(codes(record),
              ElementsAre("wrong-path", "wrong-path", "evidence-missing", "same-road"));
  EXPECT_THAT(record.warnings[0].text, HasSubstr("all_reduce/float32/sum/8B/np2 and 1 more"));
  EXPECT_THAT(record.warnings[0].advice, HasSubstr("NCCL's log beside the record"));
  EXPECT_THAT(record.warnings[1].text, HasSubstr(kCopy));
  EXPECT_THAT(record.warnings[1].advice, HasSubstr("`linkgain topo`"));
}

}  // namespace
}  // namespace linkgain::test
