#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "linkgain/process/process.hpp"
#include "support/process_support.hpp"

namespace linkgain {
namespace {

TEST(ProcessTree, ReadsANameWithSpacesAndParentheses) {
  const auto process = parse_process(
      "812 (a) Z (b c) T 77 812 813 0 -1 4194304 77 0 0 0 1 2 3 4 20 0 1 0 121821 3133440 418 18");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->id, 812);
  EXPECT_EQ(process->state, 'T');
  EXPECT_EQ(process->parent, 77);
  EXPECT_EQ(process->session, 813);
  EXPECT_EQ(process->start, 121821U);
}

TEST(ProcessTree, RefusesWhatIsNoProcess) {
  for (const char* text : {"", "812", "812 (sh", "812 (sh) S", "x (sh) S 1 2 3"}) {
    EXPECT_FALSE(parse_process(text)) << text;
  }
}

TEST(ProcessTree, ListsThisProcess) {
  const std::vector<ProcessEntry> processes = list_processes();
  const auto self = std::find_if(processes.begin(), processes.end(),
                                 [](const ProcessEntry& entry) { return entry.id == getpid(); });
  ASSERT_NE(self, processes.end());
  EXPECT_EQ(self->parent, getppid());
}

TEST(ProcessTree, AFileThatFailsWhileItIsReadIsEmpty) {
  EXPECT_EQ(read_process_file("/proc"), "");  // opens, but reading it is an error
  EXPECT_EQ(read_process_file("/proc/self/no-such-file"), "");
  EXPECT_THAT(read_process_file("/proc/self/cmdline"), testing::HasSubstr("test"));
}

TEST(ProcessTree, ComparesVariablesWhole) {
  const test::TemporaryFolder folder;
  ProcessRequest request = test::script("echo ready; cat", folder);
  request.environment = {{"PATH", "/usr/bin:/bin"}, {"XNAME", "value"}, {"NAME", "value2"}};
  Process process(request);
  process.read_line(test::kPlenty);
  EXPECT_TRUE(has_variable(process.id(), "NAME=value2"));
  EXPECT_TRUE(has_variable(process.id(), "XNAME=value"));
  EXPECT_FALSE(has_variable(process.id(), "NAME=value"));
  EXPECT_FALSE(has_variable(process.id(), "NAME="));
}

TEST(ProcessTree, FindsByMarkerByDescentAndByMemory) {
  const test::TemporaryFolder folder;
  ProcessRequest request = test::script("env -i sh -c 'echo $$; sleep 1000; :' & cat", folder);
  request.environment["LINKGAIN_TEST_MARK"] = "here";
  Process process(request);
  const pid_t child = test::read_id(process);
  const auto ids = [](const std::vector<ProcessEntry>& entries) {
    std::vector<pid_t> result;
    for (const ProcessEntry& entry : entries) result.push_back(entry.id);
    return result;
  };
  ProcessTree by_marker("LINKGAIN_TEST_MARK=here");
  ProcessTree by_descent("LINKGAIN_TEST_MARK=nowhere");
  ProcessTree stranger("LINKGAIN_TEST_MARK=nowhere");
  EXPECT_THAT(ids(by_marker.find(std::nullopt)), testing::IsSupersetOf({process.id(), child}));
  EXPECT_THAT(ids(by_descent.find(process.id())), testing::IsSupersetOf({process.id(), child}));
  EXPECT_THAT(ids(by_descent.find(std::nullopt)), testing::IsSupersetOf({process.id(), child}));
  EXPECT_THAT(stranger.find(std::nullopt), testing::IsEmpty());
}

}  // namespace
}  // namespace linkgain
