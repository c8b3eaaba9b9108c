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

}  // namespace
}  // namespace linkgain::test
