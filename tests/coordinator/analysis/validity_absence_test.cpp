#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/record/warning.hpp"
#include "verdict_records.hpp"

/// Runs in which nothing was measured of what was asked for.
namespace linkgain::test {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::Not;

TEST(JudgeAbsence, IsIncompleteWhereNothingWasMeasured) {
  Record record = good_record();
  take_times(record.cases[0], "out of memory");
  EXPECT_EQ(judge(record), ExitCode::success) << "something was";
  EXPECT_EQ(record.status, RunStatus::complete);
  take_times(record.cases[1], "no network");
  EXPECT_EQ(judge(record), ExitCode::incomplete);
  EXPECT_EQ(record.status, RunStatus::incomplete);
  EXPECT_THAT(warning(record, "nothing-measured").text,
              EndsWith(spoken_case(record, record.cases[0].definition) + ": out of memory"));
  EXPECT_EQ(judge(record), ExitCode::incomplete) << "and stays so";
}

TEST(JudgeAbsence, TakesTheStepWithoutCommunicationForNoMeasurementOfAnother) {
  Record record = good_record();
  record.cases[0].definition = parse_case_name("gpt2_step/fp64/tiny/np2/zero2");
  record.cases[1].definition = parse_case_name("gpt2_step/fp64/tiny/np2/none");
  EXPECT_EQ(judge(record), ExitCode::success);
  take_times(record.cases[0], "too many tokens");
  EXPECT_EQ(judge(record), ExitCode::incomplete);
  EXPECT_THAT(warning(record, "nothing-measured").text,
              EndsWith(spoken_case(record, record.cases[0].definition) + ": too many tokens"));
  record = good_record();
  record.cases.pop_back();
  record.cases[0].definition = parse_case_name("gpt2_step/fp64/tiny/np2/none");
  EXPECT_EQ(judge(record), ExitCode::success) << "it was asked for";
}

TEST(JudgeAbsence, IsIncompleteWhereANamedOperationHasNoMeasuredCase) {
  using enum OperationKind;
  Record record = good_record();
  record.cases[1].definition = parse_case_name("all_gather/float32/8B/np2");
  EXPECT_EQ(judge(record, {all_reduce, all_gather}), ExitCode::success);
  take_times(record.cases[1], "no budget");
  Record of_a_profile = record;
  EXPECT_EQ(judge(of_a_profile), ExitCode::success) << "nobody named it";
  EXPECT_EQ(judge(record, {all_reduce, broadcast}), ExitCode::success) << "it has no case at all";
  EXPECT_EQ(judge(record, {all_reduce, all_gather}), ExitCode::incomplete);
  EXPECT_EQ(record.status, RunStatus::incomplete);
  EXPECT_THAT(warning(record, "operation-not-measured").text,
              EndsWith(spoken_case(record, record.cases[1].definition) + ": no budget"));
}

TEST(JudgeAbsence, IsIncompleteWhereDataWereNotVerified) {
  Record unchecked = good_record();
  unchecked.cases[1].variants[1].verification.reset();
  Record in_one_launch = good_record();
  in_one_launch.cases[1].samples.push_back({.variant = 1, .times{}, .health{}});
  EXPECT_EQ(judge(in_one_launch), ExitCode::success);
  in_one_launch.cases[1].samples.back().unverified = true;
  for (Record& record : {std::ref(unchecked), std::ref(in_one_launch)}) {
    EXPECT_EQ(judge(record), ExitCode::incomplete);
    EXPECT_EQ(record.status, RunStatus::incomplete);
    EXPECT_THAT(warning(record, "not-verified").text,
                EndsWith(spoken_case(record, record.cases[1].definition) + " with host"));
  }
}

TEST(JudgeAbsence, LeavesAnInterruptedRunAsItIs) {
  Record record = good_record();
  record.status = RunStatus::interrupted;
  for (CaseResult& result : record.cases) take_times(result, "interrupted");
  judge(record);
  EXPECT_EQ(record.status, RunStatus::interrupted);
  EXPECT_THAT(codes(record), Not(Contains("nothing-measured")));
}

}  // namespace
}  // namespace linkgain::test
