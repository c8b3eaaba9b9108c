#include "linkgain/telemetry/call_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/call_log_double.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string content(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

class CallLogTest : public ::testing::TestWithParam<LogSwitch> {
 protected:
  CallLogTest() {
    std::string folder = std::filesystem::temp_directory_path() / "linkgain_call_log_XXXXXX";
    folder_ = mkdtemp(folder.data());
    ::setenv("NCCL_DEBUG_FILE", base().c_str(), 1);
    ::setenv("NCCL_DEBUG_SUBSYS", "INIT,ENV", 1);
    CallLogDouble::tell("starts");
  }
  ~CallLogTest() override {
    CallLogDouble::close();
    ::unsetenv("NCCL_DEBUG_FILE");
    ::unsetenv("NCCL_DEBUG_SUBSYS");
    std::filesystem::remove_all(folder_);
  }
  CallLogTest(const CallLogTest&) = delete;
  CallLogTest& operator=(const CallLogTest&) = delete;

  std::string base() const { return folder_ / "nccl-p2p-1.log"; }

  std::filesystem::path folder_;
};

TEST_P(CallLogTest, TellsTheCallsOfTheWorkAlone) {
  const CallLog log(GetParam());
  CallLogDouble::call("before");
  const auto first = log.watch([] { CallLogDouble::call("first"); });
  CallLogDouble::call("between");
  const auto second = log.watch([] { CallLogDouble::call("second"); });
  CallLogDouble::call("after");
  EXPECT_EQ(first.value().text, "first\n");
  EXPECT_EQ(second.value().text, "second\n");
  EXPECT_GT(second.value().cost.value, 0.0);
}

TEST_P(CallLogTest, LosesNothingThatWasLogged) {
  const std::string between = "a warning between";
  const std::string last = "a warning at the end";
  const CallLog log(GetParam());
  log.watch([] { CallLogDouble::call("first"); });
  CallLogDouble::tell(between);
  log.watch([] {});
  log.watch([] { CallLogDouble::call("third"); });
  CallLogDouble::tell(last);
  EXPECT_EQ(content(base()), "starts\n") << "left as it was";
  EXPECT_EQ(content(base() + ".kept"), "first\n" + between + "\nthird\n");
  EXPECT_EQ(content(base() + ".now"), last + "\n");
}

TEST_P(CallLogTest, LeavesFilesOfOthersAsTheyAre) {
  for (const std::string ending : {".now", ".kept"}) {
    std::ofstream(base() + ending) << "precious";
    const CallLog log(GetParam());
    EXPECT_FALSE(log.watch([] { CallLogDouble::call("a call"); }));
    EXPECT_EQ(content(base() + ending), "precious");
    std::filesystem::remove(base() + ending);
  }
}

TEST_P(CallLogTest, WorkThatIsSilentHasNoText) {
  const CallLog log(GetParam());
  log.watch([] { CallLogDouble::call("first"); });
  EXPECT_EQ(log.watch([] {}).value().text, "");
  EXPECT_EQ(log.watch([] {}).value().text, "");
}

INSTANTIATE_TEST_SUITE_P(Switches, CallLogTest,
                         ::testing::Values(&CallLogDouble::switch_lazily,
                                           &CallLogDouble::switch_at_once),
                         [](const auto& one) {
                           return one.param == &CallLogDouble::switch_lazily ? "lazy" : "at_once";
                         });

TEST(CallLog, WithoutASwitchTheWorkIsDoneUnwatched) {
  ::setenv("NCCL_DEBUG_FILE", "/nonexistent/nccl.log", 1);
  bool done = false;
  EXPECT_FALSE(CallLog(nullptr).watch([&] { done = true; }));
  EXPECT_TRUE(done);
  ::unsetenv("NCCL_DEBUG_FILE");
}

TEST(CallLog, WithoutAFileTheWorkIsDoneUnwatched) {
  bool done = false;
  EXPECT_FALSE(CallLog(&CallLogDouble::switch_lazily).watch([&] { done = true; }));
  EXPECT_TRUE(done);
}

TEST(CallLog, FillsPatternsInAsNcclDoes) {
  EXPECT_EQ(expand_log_pattern("/tmp/a.%h.%p.log", "node1.cluster.org", 42), "/tmp/a.node1.42.log");
  EXPECT_EQ(expand_log_pattern("100%%.%x.%", "node1", 42), "100%.%x.%");
}

}  // namespace
}  // namespace linkgain::test
