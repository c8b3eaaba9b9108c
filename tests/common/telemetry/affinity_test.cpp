#include "linkgain/telemetry/affinity.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace linkgain::test {
namespace {

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
