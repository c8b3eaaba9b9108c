#include "linkgain/base/temporary_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "support/process_support.hpp"
#include "support/scoped_environment.hpp"

namespace linkgain::test {
namespace {

using linkgain::TemporaryFolder;  // of which the tests' own is not

TEST(TemporaryFolder, IsMadeAndRemovedWithWhatIsInIt) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    ASSERT_TRUE(std::filesystem::is_directory(path));
    EXPECT_NE(TemporaryFolder().path(), path);
    std::filesystem::create_directories(path / "0-1" / "ompi.node.0");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TemporaryFolder, IsRemovedByAProcessThatCanOpenNothingMore) {
  std::optional<TemporaryFolder> folder(std::in_place);
  const std::filesystem::path path = folder->path();
  std::filesystem::create_directories(path / "0-1" / "ompi.node.0" / "pid.1" / "0");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 10;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<Descriptor> all;
  while (Descriptor each{open("/dev/null", O_RDONLY | O_CLOEXEC)}) all.push_back(std::move(each));
  folder.reset();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TemporaryFolder, IsInTheUsualPlaceWhereTmpdirIsEmpty) {
  const test::ScopedEnvironment empty("TMPDIR", "");
  EXPECT_EQ(folder_for_temporary_files(), "/tmp");
  EXPECT_EQ(TemporaryFolder().path().parent_path(), "/tmp");
}

TEST(TemporaryFolder, SaysWhereNoneCanBeMade) {
  for (const char* place : {"/proc", "/nowhere/at/all"}) {
    const test::ScopedEnvironment nowhere("TMPDIR", place);
    EXPECT_THROW(TemporaryFolder(), UsageError) << place;
  }
}

/// As of an hour ago.
void make_old(const std::filesystem::path& path) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const timespec then{std::chrono::duration_cast<std::chrono::seconds>(now).count() - 3600, 0};
  const std::array times{then, then};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW), 0);
}

/// The name of one that this host's next process might make.
std::string another_name() {
  const std::string name = TemporaryFolder().path().filename().string();
  return name.substr(0, name.size() - 6) + "aBc123";
}

TEST(TemporaryFolder, IsRemovedByALaterRunWhereItsOwnerWasKilled) {
  const test::TemporaryFolder parent;
  const auto left = parent.path() / another_name();
  std::filesystem::create_directories(left / "0" / "ompi.node.0");
  std::ofstream(left / "vader_segment.node.0") << "x";
  ASSERT_EQ(chmod(left.c_str(), 0700), 0);
  remove_left_folders(parent.path());
  EXPECT_TRUE(std::filesystem::exists(left)) << "its owner may not have locked it yet";
  make_old(left);
  remove_left_folders(parent.path());
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST(TemporaryFolder, StaysWhileItsOwnerLives) {
  const test::TemporaryFolder parent;
  const TemporaryFolder folder(parent.path());
  make_old(folder.path());
  remove_left_folders(parent.path());
  EXPECT_TRUE(std::filesystem::exists(folder.path()));
}

// A file system that hosts share need not share its locks.
TEST(TemporaryFolder, OfAnotherHostStays) {
  const test::TemporaryFolder parent;
  std::string name = another_name();
  char& of_kernel = name[name.rfind('.') - 1];
  of_kernel = of_kernel == '0' ? '1' : '0';
  for (const std::string& other : {name, std::string("linkgain-job.aBc123")}) {
    std::filesystem::create_directory(parent.path() / other);
    ASSERT_EQ(chmod((parent.path() / other).c_str(), 0700), 0);
    make_old(parent.path() / other);
    remove_left_folders(parent.path());
    EXPECT_TRUE(std::filesystem::exists(parent.path() / other)) << other;
  }
}

TEST(TemporaryFolder, OfOthersStays) {
  const test::TemporaryFolder parent;
  const auto target = parent.path() / "results";
  std::filesystem::create_directory(target);
  std::ofstream(target / "record.json") << "x";
  const std::string own = another_name();
  const std::string begin = own.substr(0, own.size() - 6);
  std::filesystem::create_directory_symlink(target, parent.path() / (begin + "aaaaaa"));
  for (const std::string& name :
       {std::string("linkgain-nvlink"), begin + "a", begin + "results", "x" + own, own}) {
    std::filesystem::create_directory(parent.path() / name);
    ASSERT_EQ(chmod((parent.path() / name).c_str(), 0700), 0);
  }
  ASSERT_EQ(chmod((parent.path() / own).c_str(), 0755), 0) << "not as ours are";
  for (const auto& entry : std::filesystem::directory_iterator(parent.path())) {
    make_old(entry.path());
  }
  remove_left_folders(parent.path());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(parent.path()), {}), 7);
  EXPECT_TRUE(std::filesystem::exists(target / "record.json"));
}

}  // namespace
}  // namespace linkgain::test
