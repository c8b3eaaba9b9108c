#include "redirection.hpp"

/// Runs whose progress or results go nowhere.
namespace linkgain::test {
namespace {

using testing::HasSubstr;

class RunOutput : public MpiTest {
 protected:
  ProgramRequest one_case() const {
    return run_request(
        folder_, {"--only", "all_reduce", "--sizes", "64K", "--ci-width", "0.5", "--budget", "60"});
  }

  void expect_record(const std::string& of) const {
    ASSERT_TRUE(std::filesystem::exists(folder_.path() / "out" / "record.json")) << of;
    const Json record = read_record(folder_);
    EXPECT_EQ(record.at("status"), "complete") << of;
    EXPECT_GT(record.at("cases")[0].at("variants")[0].at("busbw_gb_per_s"), 0.0) << of;
    EXPECT_TRUE(std::filesystem::exists(folder_.path() / "out" / "report.md")) << of;
  }

  ScratchFolder folder_;
};

TEST_F(RunOutput, WithoutProgressIsAsGood) {
  for (const char* nowhere : {"2>/dev/full", "2>&-"}) {
    const Outcome outcome = with_streams(folder_, nowhere, one_case());
    EXPECT_EQ(outcome.status, 0) << nowhere;
    EXPECT_THAT(outcome.output, HasSubstr("all_reduce")) << nowhere;
    expect_record(nowhere);
  }
}

TEST_F(RunOutput, ThatCannotBeWrittenIsAnErrorAndTheRecordIsKept) {
  for (const char* nowhere : {">/dev/full", ">&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    EXPECT_EQ(with_streams(folder_, nowhere, one_case()).status, 2) << nowhere;
    expect_record(nowhere);
  }
}

TEST_F(RunOutput, ThatNobodyReadsIsAnErrorAndTheRecordIsKept) {
  in_shell(folder_, "{ \"$@\" 2>&1; echo $? >status; } | true", one_case());
  EXPECT_EQ(read_text(folder_.path() / "status"), "2\n");
  expect_record("no reader");
}

TEST_F(RunOutput, WithoutAReaderOfTheProgressIsAsGood) {
  in_shell(folder_, "{ \"$@\" 2>&1 >table; echo $? >status; } | true", one_case());
  EXPECT_EQ(read_text(folder_.path() / "status"), "0\n");
  EXPECT_THAT(read_text(folder_.path() / "table"), HasSubstr("all_reduce"));
  expect_record("no reader of the progress");
}

}  // namespace
}  // namespace linkgain::test
