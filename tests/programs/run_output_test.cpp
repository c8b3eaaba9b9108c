#include <csignal>
#include <functional>
#include <stdexcept>

#include "redirection.hpp"

/// Runs whose progress or results go nowhere.
namespace linkgain::test {
namespace {

using testing::HasSubstr;

class RunOutput : public MpiTest {
 protected:
  ProgramRequest one_case() const {
    return run_request(folder_, {"--only", "all_reduce", "--sizes", "64K", "--launches", "1",
                                 "--ci-width", "0.5", "--budget", "60"});
  }

  void expect_record(const std::string& of) const {
    ASSERT_TRUE(std::filesystem::exists(folder_ / "out" / "record.json")) << of;
    const Json record = read_record(folder_);
    EXPECT_EQ(record.at("status"), "complete") << of;
    EXPECT_GT(record.at("cases")[0].at("variants")[0].at("busbw_gb_per_s"), 0.0) << of;
    EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / "report.md")) << of;
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
  EXPECT_EQ(read_text(folder_ / "status"), "2\n");
  expect_record("no reader");
}

TEST_F(RunOutput, WithoutAReaderOfTheProgressIsAsGood) {
  in_shell(folder_, "{ \"$@\" 2>&1 >table; echo $? >status; } | true", one_case());
  EXPECT_EQ(read_text(folder_ / "status"), "0\n");
  EXPECT_THAT(read_text(folder_ / "table"), HasSubstr("all_reduce"));
  expect_record("no reader of the progress");
}

TEST_F(RunOutput, WhoseReaderStoppedLeavesTheRunAsItIs) {
  const FullPipe pipe(folder_ / "pipe");
  EXPECT_EQ(with_streams(folder_, "2>pipe", one_case()).status, 0);
  expect_record("progress in a full pipe");
}

/// `linkgain` with its streams in a pipe that is full, and a signal when `moment` has come.
class StoppedReader : public RunOutput {
 protected:
  Outcome signalled(const std::string& redirection, Words arguments,
                    const std::function<bool()>& moment) {
    Program program(
        shell_request(folder_, "exec \"$@\" " + redirection, run_request(folder_, arguments)));
    if (!comes_true(moment, 60.0)) throw std::runtime_error("the moment did not come");
    pause_for(0.5);
    program.signal(SIGINT);
    const double start = now();
    Outcome outcome = program.finish(30.0);
    EXPECT_LT(now() - start, 10.0 * slowdown());
    EXPECT_THAT(program.processes(), testing::IsEmpty()) << "left behind";
    return outcome;
  }

  FullPipe pipe_{folder_ / "pipe"};
};

TEST_F(StoppedReader, OfProgressLeavesTheRunOpenToSignals) {
  const auto measured = [this] {
    const auto journal = folder_ / "out" / "journal.jsonl";
    if (!std::filesystem::exists(journal)) return false;
    const std::string begin = "\"samples\":{\"case\":[";
    const std::string text = read_text(journal);
    const std::size_t at = text.rfind(begin);
    return at != std::string::npos && text.substr(at + begin.size(), 1) != "]";
  };
  with_status(128 + SIGINT, signalled("2>pipe",
                                      {"--only", "all_reduce", "--sizes", "64K:6M:+64K",
                                       "--launches", "1", "--budget", "30"},
                                      measured));
  EXPECT_EQ(read_record(folder_).at("status"), "interrupted");
}

TEST_F(StoppedReader, OfResultsLeavesTheProgramOpenToSignals) {
  with_status(
      128 + SIGINT,
      signalled(">pipe", {"--only", "all_reduce", "--sizes", "64K", "--launches", "1", "--json"},
                [this] { return std::filesystem::exists(folder_ / "out" / "report.md"); }));
  expect_record("nobody reads it");
}

}  // namespace
}  // namespace linkgain::test
