#include <string>
#include <vector>

#include "programs.hpp"

namespace linkgain::test {
namespace {

/// `linkgain` on an NVML double's machine, with its standard output going where `redirection` says.
Outcome redirected(const std::string& redirection, const std::vector<std::string>& arguments) {
  const ScratchFolder folder;
  ProgramRequest request = linkgain(folder, arguments);
  const std::vector<std::string> shell{"/bin/sh", "-c", "exec \"$@\" " + redirection, "sh"};
  request.arguments.insert(request.arguments.begin(), shell.begin(), shell.end());
  request.environment = {{"LINKGAIN_NVML_LIBRARY", NVML_DOUBLE},
                         {"LINKGAIN_NVML_SCENARIO", "h200x8"},
                         {"HOME", folder.path().string()}};
  return run_program(request);
}

const std::string kRecord = LINKGAIN_SOURCE_DIR "/results/2xH200-all_reduce-1/record.json";

TEST(Output, ThatDoesNotFitOnTheDiskIsAnError) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--version"},
                                             {"topo"},
                                             {"topo", "--json"},
                                             {"doctor"},
                                             {"baseline", kRecord, "--json"},
                                             {"report", kRecord},
                                             {"report", kRecord, "--format", "csv"},
                                             {"report", kRecord, "--format", "json"}}) {
    const Outcome outcome = redirected(">/dev/full", arguments);
    EXPECT_EQ(outcome.status, 2) << arguments.front();
    EXPECT_EQ(outcome.error, "linkgain: cannot write the output: No space left on device\n")
        << arguments.front();
  }
}

TEST(Output, ThatIsClosedIsAnError) {
  const Outcome outcome = redirected(">&-", {"topo"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.error, "linkgain: cannot write the output: Bad file descriptor\n");
}

/// A program as "$@" of a shell's script.
Outcome in_shell(const ScratchFolder& folder, const std::string& script, ProgramRequest request) {
  const std::vector<std::string> shell{"/bin/sh", "-c", script, "sh"};
  request.arguments.insert(request.arguments.begin(), shell.begin(), shell.end());
  request.directory = folder.path();
  return run_program(request);
}

Outcome with_streams(const ScratchFolder& folder, const std::string& redirection,
                     const ProgramRequest& request) {
  return in_shell(folder, "exec \"$@\" " + redirection, request);
}

ProgramRequest worker(const std::string& option) {
  ProgramRequest request;
  request.arguments = {LINKGAIN_BENCH, option};
  return request;
}

TEST(Output, OfTheWorkerThatCannotBeWrittenIsAnError) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  const ScratchFolder folder;
  for (const char* option : {"--version", "--help", "--describe"}) {
    const Outcome full = with_streams(folder, ">/dev/full", worker(option));
    EXPECT_EQ(full.status, 2) << option;
    EXPECT_EQ(full.error, "linkgain-bench: cannot write the output: No space left on device\n");
    EXPECT_EQ(with_streams(folder, ">&-", worker(option)).status, 2) << option;
  }
}

TEST(Messages, ThatCannotBeWrittenLeaveTheStatusAsItIs) {
  const ScratchFolder folder;
  for (const char* nowhere : {"2>/dev/full", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    EXPECT_EQ(with_streams(folder, nowhere, linkgain(folder, {"report", "missing"})).status, 2)
        << nowhere;
    EXPECT_EQ(with_streams(folder, nowhere, linkgain(folder, {"no-such-command"})).status, 2)
        << nowhere;
    EXPECT_EQ(with_streams(folder, nowhere, worker("--no-such-option")).status, 2) << nowhere;
  }
}

class RunOutput : public MpiTest {
 protected:
  ProgramRequest one_case() const {
    return run_request(folder_, {"--only", "all_reduce", "--sizes", "64K", "--precision", "0.5"});
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
    EXPECT_THAT(outcome.output, testing::HasSubstr("all_reduce")) << nowhere;
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
  EXPECT_THAT(read_text(folder_.path() / "table"), testing::HasSubstr("all_reduce"));
  expect_record("no reader of the progress");
}

}  // namespace
}  // namespace linkgain::test
