#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "linkgain/telemetry/host.hpp"
#include "support/process_support.hpp"

namespace linkgain::test {
namespace {

using ::testing::DoubleNear;
using ::testing::Optional;

class HostLoadTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  HostLoad read(const std::vector<std::int64_t>& pids = {}) const {
    return read_host_load(pids, folder_.path());
  }

  TemporaryFolder folder_;
  double tick_ = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
};

TEST_F(HostLoadTest, LeavesOutWhatTheKernelDoesNotTell) {
  const HostLoad load = read({4711});
  EXPECT_EQ(load.pressure_s, std::nullopt);
  EXPECT_EQ(load.busy_s, std::nullopt);
  EXPECT_EQ(load.stolen_s, std::nullopt);
  EXPECT_EQ(load.own_s, 0.0);
  EXPECT_EQ(load.involuntary_switches, 0);
}

TEST_F(HostLoadTest, ReadsPressureAndStolenTimeOfUsableProcessors) {
  write("pressure/cpu",
        "some avg10=1.00 avg60=2.00 avg300=3.00 total=2500000\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
  std::string stat = "cpu  1 1 1 1 1 1 1 1 0 0\n";
  for (int processor = 0; processor < 1024; ++processor) {
    stat += "cpu" + std::to_string(processor) + " 100 20 30 1000 500 4 6 50 9 9\n";
  }
  write("stat", stat + "intr 5\n");
  cpu_set_t usable;
  CPU_ZERO(&usable);
  ASSERT_EQ(::sched_getaffinity(0, sizeof usable, &usable), 0);
  const HostLoad load = read();
  EXPECT_THAT(load.pressure_s, Optional(2.5));
  EXPECT_THAT(load.busy_s, Optional(DoubleNear(160 * tick_ * CPU_COUNT(&usable), 1e-9)));
  EXPECT_THAT(load.stolen_s, Optional(DoubleNear(50 * tick_ * CPU_COUNT(&usable), 1e-9)));
}

TEST_F(HostLoadTest, TakesNothingFromLinesWithoutNumbers) {
  write("pressure/cpu", "some avg10=1.00 total=\n");
  write("stat", "cpu99999999999999999999 1 2 3\ncpux 1 2 3\n");
  write("11/stat", "11 (a) R");
  write("11/status", "nonvoluntary_ctxt_switches:\n");
  const HostLoad load = read({11});
  EXPECT_EQ(load.pressure_s, std::nullopt);
  EXPECT_EQ(load.busy_s, std::nullopt);
  EXPECT_EQ(load.own_s, 0.0);
  EXPECT_EQ(load.involuntary_switches, 0);
}

TEST_F(HostLoadTest, AddsUpProcesses) {
  for (const char* pid : {"11", "12"}) {
    write(std::string(pid) + "/stat",
          std::string(pid) + " (a) b (c) R 1 2 3 4 5 6 7 8 9 10 300 200 9 9 20 0 1 0 77");
    write(std::string(pid) + "/status",
          "Name:\ta\nvoluntary_ctxt_switches:\t99\nnonvoluntary_ctxt_switches:\t21\n");
  }
  const HostLoad load = read({11, 12, 13});
  EXPECT_DOUBLE_EQ(load.own_s, 1000 * tick_);
  EXPECT_EQ(load.involuntary_switches, 42);
}

TEST(HostLoadOfThisHost, GrowsWithOurOwnWork) {
  const std::vector<std::int64_t> self{::getpid()};
  const HostLoad before = read_host_load(self);
  const std::clock_t start = std::clock();
  while (std::clock() - start < CLOCKS_PER_SEC / 5) {
  }
  const HostLoad after = read_host_load(self);
  EXPECT_NEAR(after.own_s - before.own_s, 0.2, 0.05);
  ASSERT_TRUE(before.busy_s && after.busy_s);
  EXPECT_GE(*after.busy_s - *before.busy_s, 0.1);
}

}  // namespace
}  // namespace linkgain::test
