#include "linkgain/telemetry/host.hpp"

#include <gmock/gmock.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <ctime>
#include <fstream>
#include <limits>
#include <set>
#include <thread>
#include <utility>

#include "support/process_support.hpp"
#include "support/program.hpp"

namespace linkgain::test {
namespace {

using testing::DoubleNear;
using testing::Optional;

namespace fs = std::filesystem;

class FindProgram : public ::testing::Test {
 protected:
  fs::path put(const std::string& name, fs::perms permissions) const {
    const fs::path file = folder_ / name;
    std::ofstream(file) << "#!/bin/sh\n";
    fs::permissions(file, permissions);
    return file;
  }

  Environment path_of(const std::string& before) const {
    return {{"PATH", before + folder_.path().string()}};
  }

  ScratchFolder folder_;
};

TEST_F(FindProgram, FindsAnExecutableFileOnly) {
  const fs::path runs = put("runs", fs::perms::owner_all);
  put("text", fs::perms::owner_read);
  fs::create_directory(folder_ / "folder");
  const Environment environment = path_of("/no/such/folder:");
  EXPECT_EQ(find_program("runs", environment), runs);
  EXPECT_EQ(find_program("text", environment), std::nullopt);
  EXPECT_EQ(find_program("folder", environment), std::nullopt);
  EXPECT_EQ(find_program("sh", environment), std::nullopt);
}

TEST_F(FindProgram, LooksWhereTheSystemsAreWithoutAPath) {
  EXPECT_EQ(find_program("sh", {}), "/bin/sh");
  EXPECT_EQ(find_program("no-such-program", {}), std::nullopt);
}

/// A file system with a process in these cgroups.
class CgroupTest : public ::testing::Test {
 protected:
  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root() / file).parent_path());
    std::ofstream(root() / file) << text << '\n';
  }
  void limit(const fs::path& group, const std::string& most, int now) const {
    write(group / "pids.max", most);
    write(group / "pids.current", std::to_string(now));
  }
  fs::path root() const { return folder_.path(); }
  Reading<double> processors() const { return cgroup_processors(root() / "proc", root() / "sys"); }

  ScratchFolder folder_;
};

TEST_F(CgroupTest, RoomForProcessesIsThatOfTheTightestGroupAbove) {
  write("proc/self/cgroup", "0::/user.slice/session");
  EXPECT_EQ(cgroup_process_room(root()), std::nullopt);
  limit("sys/fs/cgroup/user.slice/session", "max", 10);
  EXPECT_EQ(cgroup_process_room(root()), std::nullopt);
  limit("sys/fs/cgroup/user.slice", "100", 30);
  EXPECT_EQ(cgroup_process_room(root()), 70);
  limit("sys/fs/cgroup/user.slice/session", "20", 25);
  EXPECT_EQ(cgroup_process_room(root()), 0);
}

TEST_F(CgroupTest, RoomForProcessesIsFoundInVersionOneAndWhereTheGroupIsTheHosts) {
  write("proc/self/cgroup", "9:memory:/docker/ab\n8:pids:/docker/ab");
  limit("sys/fs/cgroup/pids", "500", 100);
  EXPECT_EQ(cgroup_process_room(root()), 400);
}

TEST_F(CgroupTest, RoomForProcessesIsAbsentWhereACountIsBelowZero) {
  const std::string least = std::to_string(std::numeric_limits<std::int64_t>::min());
  write("proc/self/cgroup", "0::/session");
  for (const auto& [most, now] :
       {std::pair("100", least.c_str()), {least.c_str(), "100"}, {"-1", "0"}}) {
    write("sys/fs/cgroup/session/pids.max", most);
    write("sys/fs/cgroup/session/pids.current", now);
    EXPECT_EQ(cgroup_process_room(root()), std::nullopt) << most << " " << now;
  }
}

TEST_F(CgroupTest, ProcessorsAreThoseOfTheTightestGroupAbove) {
  write("proc/self/cgroup", "0::/user.slice/session");
  write("sys/fs/cgroup/user.slice/session/cpu.max", "max 100000");
  EXPECT_EQ(processors().reason(), "unlimited");
  write("sys/fs/cgroup/user.slice/cpu.max", "150000 100000");
  EXPECT_EQ(processors(), Reading<double>(1.5));
  write("sys/fs/cgroup/user.slice/session/cpu.max", "50000 100000");
  write("sys/fs/cgroup/cpu.max", "400000 100000");
  EXPECT_EQ(processors(), Reading<double>(0.5));
}

TEST_F(CgroupTest, ProcessorsAreFoundInVersionOneAndWhereTheGroupIsTheHosts) {
  EXPECT_FALSE(processors().measured());
  write("proc/self/cgroup", "5:cpuset:/\n4:cpu,cpuacct:/docker/ab\n0::/");
  EXPECT_FALSE(processors().measured());
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(processors().reason(), "unlimited");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000");
  EXPECT_EQ(processors(), Reading<double>(4.0));
  write("sys/fs/cgroup/cpu/docker/ab/cpu.cfs_period_us", "100000");
  write("sys/fs/cgroup/cpu/docker/ab/cpu.cfs_quota_us", "50000");
  EXPECT_EQ(processors(), Reading<double>(0.5));
}

TEST(UsableCores, AreAtLeastOneAndAtMostTheProcessors) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

class HostLoadTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  HostLoad read(const std::vector<std::int64_t>& pids = {}) const {
    return read_host_load(pids, folder_.path());
  }

  ScratchFolder folder_;
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

std::string normalised(const std::string& text) {
  const auto set = CpuSet::from_list(text);
  return set.has_value() ? set->list() : "none";
}

TEST(CpuSet, ReadsTheKernelsLists) {
  EXPECT_EQ(normalised("0-15\n"), "0-15");
  EXPECT_EQ(normalised("0-1,32-47,2"), "0-2,32-47");
  EXPECT_EQ(normalised("2047"), "2047");
}

TEST(CpuSet, RefusesWhatIsNoList) {
  for (const char* text : {"", "\n", "all", "0xff", "3-", "-1-x"}) {
    EXPECT_EQ(normalised(text), "none") << text;
  }
}

TEST(CpuSet, Intersects) {
  const CpuSet a = CpuSet::from_list("0-15").value();
  const CpuSet b = CpuSet::from_list("8-31").value();
  EXPECT_EQ(a.intersected_with(b).list(), "8-15");
  EXPECT_TRUE(a.intersected_with(CpuSet::from_list("16-31").value()).empty());
}

TEST(CpuSet, PicksOneCpuModuloTheirCount) {
  const CpuSet set = CpuSet::from_list("3,8-9").value();
  EXPECT_EQ(set.only(0).list(), "3");
  EXPECT_EQ(set.only(2).list(), "9");
  EXPECT_EQ(set.only(4).list(), "8");
  EXPECT_EQ(set.only(-1).list(), "9");
}

/// Puts the binding back that the test began with.
class CpuBinding : public ::testing::Test {
 protected:
  ~CpuBinding() override { before_.bind_process(); }
  const CpuSet before_ = CpuSet::of_this_thread();
};

TEST_F(CpuBinding, RefusedBindingChangesNothing) {
  EXPECT_FALSE(CpuSet::from_list("100000").value().bind_process());
  EXPECT_EQ(CpuSet::of_this_thread().list(), before_.list());
}

TEST_F(CpuBinding, NarrowsToTheOverlap) {
  const std::string last = before_.only(-1).list();
  const CpuSet wanted = CpuSet::from_list(last + ",100000").value();
  EXPECT_EQ(bind_within_allowed(wanted), last);
  EXPECT_EQ(CpuSet::of_this_thread().list(), last);
}

TEST_F(CpuBinding, StaysWhereNothingOverlaps) {
  EXPECT_EQ(bind_within_allowed(CpuSet::from_list("100000").value()), before_.list());
  EXPECT_EQ(CpuSet::of_this_thread().list(), before_.list());
}

// Enough for every machine that these tests run on; the code under test has no such limit.
constexpr int kCpus = 8192;
using Mask = std::array<cpu_set_t, kCpus / CPU_SETSIZE>;

Mask allowed_mask() {
  Mask mask{};
  EXPECT_EQ(sched_getaffinity(0, sizeof(mask), mask.data()), 0);
  return mask;
}

std::set<int> allowed_cpus() {
  const Mask mask = allowed_mask();
  std::set<int> cpus;
  for (int cpu = 0; cpu < kCpus; ++cpu) {
    if (CPU_ISSET_S(static_cast<std::size_t>(cpu), sizeof(mask), mask.data())) {
      cpus.insert(cpu);
    }
  }
  return cpus;
}

/// Puts the binding back that the test began with.
class Affinity : public ::testing::Test {
 protected:
  ~Affinity() override { sched_setaffinity(0, sizeof(before_), before_.data()); }

  const Mask before_ = allowed_mask();
  const std::set<int> cpus_ = allowed_cpus();
};

std::optional<std::string> any_pci_device() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/bus/pci/devices", error)) {
    if (std::filesystem::exists(entry.path() / "local_cpulist")) {
      return entry.path().filename().string();
    }
  }
  return std::nullopt;
}

TEST_F(Affinity, BindsToOneAllowedCpu) {
  const std::string list = bind_to_cpu(1);
  const auto expected = std::next(cpus_.begin(), 1 % static_cast<int>(cpus_.size()));
  EXPECT_EQ(allowed_cpus(), std::set<int>{*expected});
  EXPECT_EQ(list, std::to_string(*expected));
}

TEST_F(Affinity, CountsModuloTheAllowedCpus) {
  const int count = static_cast<int>(cpus_.size());
  bind_to_cpu(count);
  EXPECT_EQ(allowed_cpus(), std::set<int>{*cpus_.begin()});
}

TEST_F(Affinity, BindsThreadsThatRunAndThreadsToCome) {
  std::atomic<bool> bound = false;
  std::set<int> running;
  std::thread thread([&] {
    while (!bound) {
      std::this_thread::yield();
    }
    running = allowed_cpus();
  });
  bind_to_cpu(0);
  bound = true;
  thread.join();
  std::set<int> later;
  std::thread([&] { later = allowed_cpus(); }).join();
  EXPECT_EQ(running, std::set<int>{*cpus_.begin()});
  EXPECT_EQ(later, std::set<int>{*cpus_.begin()});
}

TEST_F(Affinity, UnknownDevicesLeaveTheBinding) {
  for (const char* id : {"ffff:ff:1f.7", "", "nonsense", "0000:00:00.0/..", "../../../etc"}) {
    const std::string list = bind_near_pci_device(id);
    EXPECT_EQ(allowed_cpus(), cpus_) << id;
    EXPECT_FALSE(list.empty()) << id;
  }
}

TEST_F(Affinity, NeverLeavesTheAllowedCpus) {
  const auto device = any_pci_device();
  if (!device.has_value()) {
    GTEST_SKIP() << "this machine shows no PCI device";
  }
  bind_to_cpu(0);
  bind_near_pci_device(*device);
  EXPECT_EQ(allowed_cpus(), std::set<int>{*cpus_.begin()});
}

}  // namespace
}  // namespace linkgain::test
