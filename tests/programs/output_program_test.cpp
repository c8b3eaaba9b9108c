#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "redirection.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// Requests `linkgain` on an NVML double's machine.
ProgramRequest beside_gpus(const ScratchFolder& folder, const Words& arguments) {
  ProgramRequest request = linkgain(folder, arguments);
  request.environment["HOME"] = folder.path().string();
  return on_machine("h200x8", request);
}

/// Sends standard output where `redirection` says.
Outcome redirected(const std::string& redirection, const Words& arguments) {
  const ScratchFolder folder;
  return with_streams(folder, redirection, beside_gpus(folder, arguments));
}

/// Runs a program where no file may grow. What it prints goes into a pipe, its status behind that.
Outcome without_growing_files(const ScratchFolder& folder, const ProgramRequest& request) {
  return in_shell(folder, "{ (ulimit -f 0; exec \"$@\") 2>&1; echo \"status $?\"; } | cat",
                  request);
}

std::string not_written(const std::string& program, int error) {
  return program + ": cannot write the output: " + std::strerror(error) + "\n";
}

const std::string kRecord = LINKGAIN_SOURCE_DIR "/results/2xH200-all_reduce-1/record.json";

TEST(Output, ThatDoesNotFitOnTheDiskIsAnError) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  for (const Words& arguments : std::vector<Words>{{"--version"},
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
  const Outcome outcome = with_status(2, redirected(">&-", {"topo"}));
  EXPECT_EQ(outcome.error, not_written("linkgain", EBADF));
}

TEST(Output, BeyondTheSizeThatFilesMayHaveIsAnErrorAndLeavesNothing) {
  const ScratchFolder folder;
  ASSERT_EQ(run_linkgain(folder, {"baseline", kRecord, "--output", "base.json"}).status, 0);
  for (Words arguments :
       std::vector<Words>{{"doctor", "--prometheus"},
                          {"doctor", "--junit"},
                          {"baseline", kRecord, "--output"},
                          {"fleet", kRecord, "--prometheus"},
                          {"check", kRecord, "--baseline", "base.json", "--junit"},
                          {"check", kRecord, "--baseline", "base.json", "--prometheus"}}) {
    arguments.emplace_back("new.prom");
    const Outcome outcome = without_growing_files(folder, beside_gpus(folder, arguments));
    EXPECT_THAT(outcome.output, AllOf(HasSubstr("cannot write new.prom: "),
                                      HasSubstr(std::strerror(EFBIG)), EndsWith("status 2\n")))
        << arguments.front();
  }
  const std::filesystem::directory_iterator left(folder.path());
  EXPECT_EQ(std::distance(left, {}), 1) << "only base.json";
}

TEST(Output, OfARunBeyondTheSizeThatFilesMayHaveLeavesItsFolderUnlocked) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "out");
  const Outcome outcome = without_growing_files(
      folder, beside_gpus(folder, {"exec", "--out", "out", "--rounds", "2", "--", "true"}));
  EXPECT_THAT(outcome.output, EndsWith("status 6\n"));
  const Outcome second =
      run_program(beside_gpus(folder, {"exec", "--out", "out", "--rounds", "1", "--", "true"}));
  EXPECT_THAT(second.error, Not(HasSubstr("in use")));
}

ProgramRequest worker(const std::string& option) { return {.arguments = {LINKGAIN_BENCH, option}}; }

TEST(Output, OfTheWorkerThatCannotBeWrittenIsAnError) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  const ScratchFolder folder;
  for (const char* option : {"--version", "--help", "--describe"}) {
    const Outcome full = with_streams(folder, ">/dev/full", worker(option));
    EXPECT_EQ(full.status, 2) << option;
    EXPECT_EQ(full.error, not_written("linkgain-bench", ENOSPC));
    EXPECT_EQ(with_streams(folder, ">&-", worker(option)).status, 2) << option;
  }
  const ProgramRequest version = worker("--version");
  const Outcome outcome =
      in_shell(folder, "{ (ulimit -f 0; exec \"$@\" >file) 2>&1; echo $?; } | cat", version);
  EXPECT_EQ(outcome.output, not_written("linkgain-bench", EFBIG) + "2\n");
}

// Prevents SIGSEGV in the midst of their work.
TEST(Limits, OfAStackThatIsTooSmallIsNamedBeforeAnythingIsMade) {
  const ScratchFolder folder;
  for (const ProgramRequest& request :
       {linkgain(folder, {"exec", "--out", "out", "--", "true"}), linkgain(folder, {"topo"}),
        run_request(folder, {}), worker("--describe")}) {
    const Outcome outcome = in_shell(folder, "ulimit -s 64; exec \"$@\"", request);
    EXPECT_EQ(outcome.status, 3) << outcome.error;
    EXPECT_THAT(outcome.error, testing::HasSubstr("ulimit -s"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
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
