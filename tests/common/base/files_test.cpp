#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/temporary_folder.hpp"
#include "support/full_disk.hpp"
#include "support/scoped_environment.hpp"
#include "support/scratch_folder.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;

class RegularFile : public testing::Test {
 protected:
  RegularFile() {
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ / "file") << "text";
  }

  const ScratchFolder scratch_;
  const std::filesystem::path folder_ = scratch_ / "folder";
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

/// Refuses pipes: who opens one to write waits for its reader, and no signal's handler ends that.
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
  EXPECT_THAT(refusal_of([&] { write_file_atomically(held / "file", "new", Existing::kept); }),
              HasSubstr("cannot write " + (folder_ / "file").string()));
  std::filesystem::rename(folder_, scratch_ / "moved");
  EXPECT_EQ(path_of_held(held / "file").string(), scratch_ / "moved/file");
  close(folder);
}

constexpr FileKind kNote{"a note",
                         [](std::string_view text) { return text.starts_with("note: "); }};

class OwnFile : public testing::Test {
 protected:
  std::filesystem::path at(const std::string& name) const { return folder_ / name; }
  std::string text_of(const std::string& name) const { return read_regular_file(at(name)).value(); }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(at(name)) << text;
  }
  std::string refusal(const std::string& name) const {
    const std::string said = refusal_of([&] { require_own_file(at(name), kNote); });
    EXPECT_EQ(refusal_of([&] { write_own_file(at(name), kNote, "note: new"); }), said);
    return with_replaced(said, folder_.path().string(), "D");
  }
  const ScratchFolder folder_;
};

TEST_F(OwnFile, ReplacesNothingElse) {
  namespace fs = std::filesystem;
  put("mine", "my thoughts");
  put("empty", "");
  put("earlier", "note: old");
  put("read-only", "note: old");
  fs::permissions(at("read-only"), fs::perms::owner_read);
  fs::create_symlink("earlier", at("link"));
  fs::create_symlink("nowhere", at("dangling"));
  fs::create_symlink("/dev/null", at("null"));
  fs::create_directory(at("folder"));
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  Situations situations;
  for (const char* name :
       {"mine", "empty", "read-only", "link", "dangling", "null", "folder", "pipe"}) {
    situations.add(name, refusal(name));
  }
  EXPECT_EQ(refusal("earlier"), "accepted");
  EXPECT_EQ(refusal("new"), "accepted");
  expect_golden(situations.text(), "own_files.txt");
  EXPECT_EQ(text_of("mine"), "my thoughts");
  EXPECT_EQ(text_of("read-only"), "note: old");
  EXPECT_EQ(text_of("earlier"), "note: new");
  EXPECT_EQ(text_of("new"), "note: new");
  EXPECT_TRUE(fs::is_symlink(at("link")) && fs::is_symlink(at("null")) && fs::is_fifo(at("pipe")));
}

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
  const ScopedEnvironment empty("TMPDIR", "");
  EXPECT_EQ(folder_for_temporary_files(), "/tmp");
  EXPECT_EQ(TemporaryFolder().path().parent_path(), "/tmp");
}

TEST(TemporaryFolder, SaysWhereNoneCanBeMade) {
  for (const char* place : {"/proc", "/nowhere/at/all"}) {
    const ScopedEnvironment nowhere("TMPDIR", place);
    EXPECT_THROW(TemporaryFolder(), UsageError) << place;
  }
}

/// Dates it an hour back.
void make_old(const std::filesystem::path& path) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const timespec then{std::chrono::duration_cast<std::chrono::seconds>(now).count() - 3600, 0};
  const std::array times{then, then};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW), 0);
}

/// Returns the name of one that this host's next process might make.
std::string another_name() {
  const std::string name = TemporaryFolder().path().filename().string();
  return name.substr(0, name.size() - 6) + "aBc123";
}

TEST(TemporaryFolder, IsRemovedByALaterRunWhereItsOwnerWasKilled) {
  const ScratchFolder parent;
  const auto left = parent / another_name();
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
  const ScratchFolder parent;
  const TemporaryFolder folder(parent.path());
  make_old(folder.path());
  remove_left_folders(parent.path());
  EXPECT_TRUE(std::filesystem::exists(folder.path()));
}

// Keeps it, as a file system that hosts share need not share its locks.
TEST(TemporaryFolder, OfAnotherHostStays) {
  const ScratchFolder parent;
  std::string name = another_name();
  char& of_kernel = name[name.rfind('.') - 1];
  of_kernel = of_kernel == '0' ? '1' : '0';
  for (const std::string& other : {name, std::string("linkgain-job.aBc123")}) {
    std::filesystem::create_directory(parent / other);
    ASSERT_EQ(chmod((parent / other).c_str(), 0700), 0);
    make_old(parent / other);
    remove_left_folders(parent.path());
    EXPECT_TRUE(std::filesystem::exists(parent / other)) << other;
  }
}

TEST(TemporaryFolder, OfOthersStays) {
  const ScratchFolder parent;
  const auto target = parent / "results";
  std::filesystem::create_directory(target);
  std::ofstream(target / "record.json") << "x";
  const std::string own = another_name();
  const std::string begin = own.substr(0, own.size() - 6);
  std::filesystem::create_directory_symlink(target, parent / (begin + "aaaaaa"));
  for (const std::string& name :
       {std::string("linkgain-nvlink"), begin + "a", begin + "results", "x" + own, own}) {
    std::filesystem::create_directory(parent / name);
    ASSERT_EQ(chmod((parent / name).c_str(), 0700), 0);
  }
  ASSERT_EQ(chmod((parent / own).c_str(), 0755), 0) << "not as ours are";
  for (const auto& entry : std::filesystem::directory_iterator(parent.path())) {
    make_old(entry.path());
  }
  remove_left_folders(parent.path());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(parent.path()), {}), 7);
  EXPECT_TRUE(std::filesystem::exists(target / "record.json"));
}

}  // namespace
}  // namespace linkgain::test
