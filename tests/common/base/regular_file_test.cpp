#include "linkgain/base/regular_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "linkgain/base/errors.hpp"
#include "support/full_disk.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;

class RegularFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "linkgain_file_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::ofstream(folder_ / "file") << "text";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(RegularFile, IsReadWholeUpToItsLimit) {
  EXPECT_EQ(read_regular_file(folder_ / "file").value(), "text");
  EXPECT_EQ(read_regular_file(folder_ / "file", 4).value(), "text");
  EXPECT_THAT(read_regular_file(folder_ / "file", 3).reason(), HasSubstr("more than 3 bytes"));
  std::filesystem::create_symlink("file", folder_ / "link");
  EXPECT_EQ(read_regular_file(folder_ / "link").value(), "text");
  EXPECT_FALSE(read_regular_file("/proc/self/stat").value_or("").empty()) << "states no size";
}

TEST_F(RegularFile, IsNothingElse) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(read_regular_file(folder_ / "pipe").reason(), HasSubstr("no regular file"));
  EXPECT_THAT(read_regular_file("/dev/zero").reason(), HasSubstr("no regular file"));
  EXPECT_THAT(read_regular_file(folder_).reason(), HasSubstr("a folder"));
  EXPECT_THAT(read_regular_file(folder_ / "none").reason(), HasSubstr("No such file"));
}

TEST_F(RegularFile, IsWrittenWhereNoLinkStands) {
  std::filesystem::create_symlink("file", folder_ / "link");
  for (const WriteMode mode : {WriteMode::anew, WriteMode::append}) {
    EXPECT_LT(open_to_write(folder_ / "link", mode), 0);
    EXPECT_EQ(errno, ELOOP);
  }
  EXPECT_EQ(read_regular_file(folder_ / "file").value(), "text");
  const int file = open_to_write(folder_ / "file", WriteMode::append);
  ASSERT_GE(file, 0);
  EXPECT_EQ(write(file, "s", 1), 1);
  close(file);
  EXPECT_EQ(read_regular_file(folder_ / "file").value(), "texts");
  close(open_to_write(folder_ / "file", WriteMode::anew));
  EXPECT_EQ(read_regular_file(folder_ / "file").value(), "");
}

/// Whoever opens a pipe to write waits for its reader, and no signal's handler ends that.
TEST_F(RegularFile, IsWrittenWhereNoPipeOrDeviceStands) {
  const std::filesystem::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const WriteMode mode : {WriteMode::anew, WriteMode::append}) {
    EXPECT_LT(open_to_write(pipe, mode), 0);
    EXPECT_EQ(errno, ENXIO);
    EXPECT_LT(open_to_write("/dev/null", mode), 0);
    EXPECT_EQ(errno, ENXIO);
  }
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_LT(open_to_write(pipe, WriteMode::append), 0) << "that somebody reads";
  close(reader);
}

/// Ends with 0 where it got the error.
[[noreturn]] void write_beyond_the_limit(int file) {
  make_file_size_limit_an_error();
  const rlimit none{};
  setrlimit(RLIMIT_FSIZE, &none);
  _exit(write(file, "x", 1) < 0 && errno == EFBIG ? 0 : 1);
}

TEST_F(RegularFile, ThatMayNotGrowIsAnErrorAndEndsOtherPrograms) {
  const int file = open_to_write(folder_ / "file", WriteMode::append);
  EXPECT_EXIT(write_beyond_the_limit(file), testing::ExitedWithCode(0), "");
  close(file);
  const auto become_another = [] {
    make_file_size_limit_an_error();
    execl("/bin/sh", "sh", "-c", "kill -XFSZ $$", nullptr);
  };
  EXPECT_EXIT(become_another(), testing::KilledBySignal(SIGXFSZ), "");
}

class WriteFileAtomically : public RegularFile {
 protected:
  std::string content() const { return read_regular_file(folder_ / "file").value(); }
  auto files() const { return std::distance(std::filesystem::directory_iterator(folder_), {}); }
};

TEST_F(WriteFileAtomically, ReplacesTheFileAndLeavesNothingElse) {
  write_file_atomically(folder_ / "file", "new", Existing::replaced);
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(WriteFileAtomically, KeepsTheFileThatIsToBeKept) {
  EXPECT_THROW(write_file_atomically(folder_ / "file", "new", Existing::kept), UsageError);
  EXPECT_EQ(content(), "text");
  EXPECT_EQ(files(), 1);
  write_file_atomically(folder_ / "other", "new", Existing::kept);
  EXPECT_EQ(files(), 2);
}

TEST_F(WriteFileAtomically, LeavesTheOldFileWholeWhereItCannotWrite) {
  {
    const FullDisk full(16);
    EXPECT_THROW(write_file_atomically(folder_ / "file", std::string(100, 'n'), Existing::replaced),
                 UsageError);
  }
  EXPECT_EQ(content(), "text");
  EXPECT_EQ(files(), 1);
}

TEST_F(WriteFileAtomically, LeavesNoTemporaryFileWhereItCannotReplace) {
  std::filesystem::remove(folder_ / "file");
  std::filesystem::create_directory(folder_ / "file");
  EXPECT_THROW(write_file_atomically(folder_ / "file", "new", Existing::replaced), UsageError);
  EXPECT_EQ(files(), 1);
}

TEST_F(WriteFileAtomically, NamesAFileOfAFolderThatIsHeldAsPeopleKnowIt) {
  const int folder = open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
  const auto held = std::filesystem::path("/proc/self/fd") / std::to_string(folder);
  EXPECT_EQ(path_of_held(held / "file"), folder_ / "file");
  EXPECT_EQ(path_of_held(held), folder_);
  EXPECT_EQ(path_of_held(folder_ / "file"), folder_ / "file");
  try {
    write_file_atomically(held / "file", "new", Existing::kept);
    FAIL() << "it was replaced";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot write " + (folder_ / "file").string()));
  }
  std::filesystem::rename(folder_, folder_.string() + "-moved");
  EXPECT_EQ(path_of_held(held / "file").string(), folder_.string() + "-moved/file");
  folder_ += "-moved";
  close(folder);
}

}  // namespace
}  // namespace linkgain::test
