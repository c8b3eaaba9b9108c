#include "linkgain/telemetry/host.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "support/program.hpp"

namespace linkgain::test {
namespace {

namespace fs = std::filesystem;

class FindProgram : public ::testing::Test {
 protected:
  fs::path put(const std::string& name, fs::perms permissions) const {
    const fs::path file = folder_.path() / name;
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
  fs::create_directory(folder_.path() / "folder");
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
class CgroupProcessRoom : public ::testing::Test {
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

  ScratchFolder folder_;
};

TEST_F(CgroupProcessRoom, IsThatOfTheTightestGroupAbove) {
  write("proc/self/cgroup", "0::/user.slice/session");
  EXPECT_EQ(cgroup_process_room(root()), std::nullopt);
  limit("sys/fs/cgroup/user.slice/session", "max", 10);
  EXPECT_EQ(cgroup_process_room(root()), std::nullopt);
  limit("sys/fs/cgroup/user.slice", "100", 30);
  EXPECT_EQ(cgroup_process_room(root()), 70);
  limit("sys/fs/cgroup/user.slice/session", "20", 25);
  EXPECT_EQ(cgroup_process_room(root()), 0);
}

TEST_F(CgroupProcessRoom, IsFoundInVersionOneAndWhereTheGroupIsTheHosts) {
  write("proc/self/cgroup", "9:memory:/docker/ab\n8:pids:/docker/ab");
  limit("sys/fs/cgroup/pids", "500", 100);
  EXPECT_EQ(cgroup_process_room(root()), 400);
}

TEST_F(CgroupProcessRoom, IsAbsentWhereACountIsBelowZero) {
  const std::string least = std::to_string(std::numeric_limits<std::int64_t>::min());
  write("proc/self/cgroup", "0::/session");
  for (const auto& [most, now] :
       {std::pair("100", least.c_str()), {least.c_str(), "100"}, {"-1", "0"}}) {
    write("sys/fs/cgroup/session/pids.max", most);
    write("sys/fs/cgroup/session/pids.current", now);
    EXPECT_EQ(cgroup_process_room(root()), std::nullopt) << most << " " << now;
  }
}

TEST(UsableCores, AreAtLeastOneAndAtMostTheProcessors) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace linkgain::test
