#include "linkgain/run/folder_lock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/run/run_directory.hpp"
#include "support/process_support.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class FolderLockTest : public testing::Test {
 protected:
  std::string refusal() const {
    return test::refusal_of([&] { FolderLock(folder_.path()); });
  }

  /// To a user who may only read what root, or this user, has there: root opens every file.
  std::string refusal_to_another() const {
    namespace fs = std::filesystem;
    fs::permissions(folder_.path(), fs::perms::all);
    fs::permissions(folder_.path() / ".lock",
                    fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
    constexpr uid_t kNobody = 65534;
    const bool is_root = geteuid() == 0;
    EXPECT_EQ(is_root ? seteuid(kNobody) : 0, 0);
    const std::string found = refusal();
    EXPECT_EQ(is_root ? seteuid(0) : 0, 0);
    return found;
  }
  test::TemporaryFolder folder_;
};

TEST_F(FolderLockTest, IsOneRunsAndNamesIt) {
  {
    FolderLock lock(folder_.path());
    const FolderLock moved(std::move(lock));
    EXPECT_THAT(refusal(), AllOf(HasSubstr("in use"),
                                 HasSubstr("process " + std::to_string(getpid()) + " on ")));
  }
  EXPECT_EQ(refusal(), "accepted");
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(FolderLockTest, OfARunThatWasKilledIsFree) {
  std::ofstream(folder_.path() / ".lock") << "process 1 on node1";
  EXPECT_EQ(refusal(), "accepted");
}

TEST_F(FolderLockTest, IsNoLinkAndNoFolder) {
  std::ofstream(folder_.path() / "target") << "precious";
  std::filesystem::create_symlink("target", folder_.path() / ".lock");
  EXPECT_THAT(refusal(), HasSubstr(".lock cannot be opened"));
  EXPECT_EQ(test::read_file(folder_.path() / "target"), "precious");
  std::filesystem::remove(folder_.path() / ".lock");
  std::filesystem::create_directory(folder_.path() / ".lock");
  EXPECT_THAT(refusal(), HasSubstr(".lock cannot be opened"));
}

/// Whoever opens a pipe to read waits for one who writes.
TEST_F(FolderLockTest, IsNoPipe) {
  const std::filesystem::path pipe = folder_.path() / ".lock";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0644), 0);
  const auto names_it = HasSubstr(pipe.string() + " cannot be opened");
  EXPECT_THAT(refusal(), AllOf(names_it, HasSubstr("no regular file")));
  EXPECT_THAT(refusal_to_another(), AllOf(names_it, HasSubstr("no regular file")));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(FolderLockTest, KeepsAnotherUserOut) {
  const FolderLock lock(folder_.path());
  EXPECT_THAT(refusal_to_another(), HasSubstr("in use"));
}

TEST_F(FolderLockTest, ComesBeforeAnEarlierRunIsSetAside) {
  std::ofstream(folder_.path() / "record.json") << "x";
  {
    const FolderLock lock(folder_.path());
    EXPECT_THROW(take_folder(folder_.path()), UsageError);
    EXPECT_TRUE(std::filesystem::exists(folder_.path() / "record.json"));
  }
  EXPECT_TRUE(take_folder(folder_.path()));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "record.json.old"));
  EXPECT_FALSE(take_folder(folder_.path() / "none"));
}

}  // namespace
}  // namespace linkgain::test
