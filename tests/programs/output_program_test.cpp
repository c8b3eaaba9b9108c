#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "redirection.hpp"

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

std::string not_written(const std::string& program, int error) {
  return program + ": cannot write the output: " + std::strerror(error) + "\n";
}

const std::string kRecord = LINKGAIN_SOURCE_DIR "/results/2xH200-all_reduce-1/record.json";

TEST(Output, ThatDoesNotFitOnTheDiskIsAnError) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--version"},
                                             {"help", "run"},
                                             {"topo"},
                                             {"topo", "--json"},
                                             {"doctor"},
                                             {"baseline", kRecord, "--json"},
                                             {"report", kRecord},
                                             {"report", kRecord, "--format", "csv"},
                                             {"report", kRecord, "--format", "json"}}) {
    const Outcome outcome = redirected(">/dev/full", arguments);
    EXPECT_EQ(outcome.status, 2) << arguments.front();
    EXPECT_EQ(outcome.error, not_written("linkgain", ENOSPC)) << arguments.front();
  }
}

TEST(Output, ThatIsClosedIsAnError) {
  const Outcome outcome = redirected(">&-", {"topo"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.error, not_written("linkgain", EBADF));
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
    EXPECT_EQ(full.error, not_written("linkgain-bench", ENOSPC));
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

}  // namespace
}  // namespace linkgain::test
