#include "linkgain/output/output_folder.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "support/process_support.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// What a user may do to a folder that linkgain wrote record.json, jobs/ and jobs/p2p-1.log into,
/// and whether record.json and jobs/ are still linkgain's then.
struct Deed {
  const char* name;
  std::function<void(const std::filesystem::path&)> done;
  bool record, jobs;
};
namespace fs = std::filesystem;

void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

const std::vector<Deed> kDeeds{
    {"nothing", [](const auto&) {}, true, true},
    {"another file", [](const auto& at) { put(at / "notes.md", "mine"); }, true, true},
    {"a file added to jobs", [](const auto& at) { put(at / "jobs" / "notes", ""); }, true, false},
    {"a folder added to jobs", [](const auto& at) { fs::create_directory(at / "jobs" / "a"); },
     true, false},
    {"a log changed", [](const auto& at) { put(at / "jobs" / "p2p-1.log", "mine, now"); }, true,
     false},
    {"a record changed", [](const auto& at) { put(at / "record.json", "mine"); }, false, true},
    {"a record of the same size, at once", [](const auto& at) { put(at / "record.json", "[]"); },
     false, true},
    {"a record that is a link",
     [](const auto& at) {
       fs::rename(at / "record.json", at / "kept.json");
       fs::create_symlink("kept.json", at / "record.json");
     },
     false, true},
    {"a record that is a folder",
     [](const auto& at) {
       fs::remove(at / "record.json");
       fs::create_directory(at / "record.json");
     },
     false, true},
    {"jobs that are a link",
     [](const auto& at) {
       fs::rename(at / "jobs", at / "kept");
       fs::create_directory_symlink("kept", at / "jobs");
     },
     true, false},
    {"a manifest that is gone", [](const auto& at) { fs::remove(at / ".linkgain"); }, false, false},
    {"a manifest that is cut",
     [](const auto& at) {
       const std::string text = read_text(at / ".linkgain");
       put(at / ".linkgain", text.substr(0, text.find("record.json") + 3));
     },
     false, true},
    {"a copy that keeps times",
     [](const auto& at) {
       fs::remove_all(at.string() + "-copy");
       ASSERT_EQ(std::system(("cp -a '" + at.string() + "' '" + at.string() + "-copy'").c_str()),
                 0);
       fs::remove_all(at);
       fs::rename(at.string() + "-copy", at);
     },
     true, true},
};

class OutputFolderTest : public testing::Test {
 protected:
  std::string refusal() const {
    return test::refusal_of([&] { OutputFolder(folder_.path()); });
  }

  /// Asks as a user who may only read what root, or this user, has there: root opens every file.
  std::string refusal_to_another() const {
    fs::permissions(folder_.path(), fs::perms::all);
    fs::permissions(folder_ / ".linkgain",
                    fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
    constexpr uid_t kNobody = 65534;
    const bool is_root = geteuid() == 0;
    EXPECT_EQ(is_root ? seteuid(kNobody) : 0, 0);
    const std::string found = refusal();
    EXPECT_EQ(is_root ? seteuid(0) : 0, 0);
    return found;
  }
  ScratchFolder folder_;
};

TEST_F(OutputFolderTest, IsOneRunsAndNamesIt) {
  {
    OutputFolder lock(folder_.path());
    const OutputFolder moved(std::move(lock));
    EXPECT_THAT(refusal(), AllOf(HasSubstr("in use"),
                                 HasSubstr("process " + std::to_string(getpid()) + " on ")));
  }
  EXPECT_EQ(refusal(), "accepted");
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(OutputFolderTest, OfARunThatWasKilledIsFree) {
  { OutputFolder(folder_.path()).write("record.json", "{}"); }
  std::ofstream(folder_ / ".linkgain", std::ios::app) << "# in use by process 1 on node1\n";
  EXPECT_EQ(refusal(), "accepted");
}

TEST_F(OutputFolderTest, HasNoManifestThatLinkgainDidNotWrite) {
  std::ofstream(folder_ / ".linkgain") << "my notes";
  EXPECT_THAT(refusal(), HasSubstr("did not write"));
  EXPECT_EQ(read_text(folder_ / ".linkgain"), "my notes");
}

TEST_F(OutputFolderTest, IsNoLinkAndNoFolder) {
  std::ofstream(folder_ / "target") << "precious";
  std::filesystem::create_symlink("target", folder_ / ".linkgain");
  EXPECT_THAT(refusal(), HasSubstr(".linkgain cannot name"));
  EXPECT_EQ(read_text(folder_ / "target"), "precious");
  std::filesystem::remove(folder_ / ".linkgain");
  std::filesystem::create_directory(folder_ / ".linkgain");
  EXPECT_THAT(refusal(), HasSubstr(".linkgain cannot name"));
}

/// Opens no pipe to read, which would wait for one who writes.
TEST_F(OutputFolderTest, IsNoPipe) {
  const std::filesystem::path pipe = folder_ / ".linkgain";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0644), 0);
  const auto names_it = HasSubstr(pipe.string() + " cannot name");
  EXPECT_THAT(refusal(), AllOf(names_it, HasSubstr("no regular file")));
  EXPECT_THAT(refusal_to_another(), AllOf(names_it, HasSubstr("no regular file")));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(OutputFolderTest, KeepsAnotherUserOut) {
  const OutputFolder lock(folder_.path());
  EXPECT_THAT(refusal_to_another(), HasSubstr("in use"));
}

TEST_F(OutputFolderTest, IsMadeAndGoesAgainWhereNothingIsWritten) {
  const std::filesystem::path inner = folder_ / "a" / "b";
  {
    const OutputFolder folder(inner);
    EXPECT_EQ(folder.path(), inner);
    EXPECT_TRUE(std::filesystem::is_directory(inner));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  { OutputFolder(inner).write("record.json", "{}"); }
  EXPECT_EQ(read_text(inner / "record.json"), "{}");
}

TEST_F(OutputFolderTest, KnowsWhatIsLinkgains) {
  for (const Deed& deed : kDeeds) {
    const fs::path path = folder_ / "out";
    fs::remove_all(path);
    {
      OutputFolder folder(path);
      folder.write("record.json", "{}");
      folder.make_folder("jobs");
      put(folder.claim("jobs/p2p-1.log"), "a line");
    }
    deed.done(path);
    const OutputFolder folder(path);
    EXPECT_EQ(folder.is_own("record.json"), deed.record) << deed.name;
    EXPECT_EQ(folder.is_own("jobs"), deed.jobs) << deed.name;
    EXPECT_FALSE(folder.is_own("notes.md")) << deed.name;
  }
}

TEST_F(OutputFolderTest, IsLinkgainsAgainWhenTheUsersFileIsGone) {
  { OutputFolder(folder_.path()).make_folder("jobs"); }
  std::ofstream(folder_ / "jobs" / "notes") << "mine";
  EXPECT_FALSE(OutputFolder(folder_.path()).is_own("jobs"));
  std::filesystem::remove(folder_ / "jobs" / "notes");
  EXPECT_TRUE(OutputFolder(folder_.path()).is_own("jobs"));
}

/// Leaves what a killed run does: files, and a manifest that does not say what they hold.
void leave_a_killed_run(const fs::path& path) {
  const fs::path kept = path.string() + "-manifest";
  {
    OutputFolder folder(path);
    folder.make_folder("jobs");
    folder.claim_logs("jobs/nccl-p2p-1.");
    put(folder.claim("run.log"), "a line");
    put(folder.held("jobs/nccl-p2p-1.node1.17.log"), "a line");
    fs::copy_file(path / ".linkgain", kept);
  }
  fs::rename(kept, path / ".linkgain");
}

TEST_F(OutputFolderTest, KnowsWhatWasBeingWrittenAndRemovesNothingOfIt) {
  leave_a_killed_run(folder_.path());
  std::ofstream(folder_ / "run.log", std::ios::app) << "my note";
  OutputFolder folder(folder_.path());
  for (const char* name : {"run.log", "jobs"}) {
    EXPECT_TRUE(folder.is_own(name)) << name;
    EXPECT_FALSE(folder.is_as_left(name)) << name;
  }
  folder.rename("jobs", "jobs.old");
  EXPECT_TRUE(folder.is_own("jobs.old"));
}

TEST_F(OutputFolderTest, OfARunThatWasKilledHasNoFilesThatTheUserMadeSince) {
  leave_a_killed_run(folder_.path());
  fs::remove(folder_ / "run.log");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  put(folder_ / "run.log", "mine");
  put(folder_ / "jobs" / "nccl-p2p-1.notes", "mine");
  const OutputFolder folder(folder_.path());
  EXPECT_FALSE(folder.is_own("run.log"));
  EXPECT_FALSE(folder.is_own("jobs"));
}

TEST_F(OutputFolderTest, DoesNotTakeAFileThatTookTheNameOfItsOwn) {
  {
    OutputFolder folder(folder_.path());
    put(folder.claim("run.log"), "a line");
    fs::remove(folder_ / "run.log");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // file systems tell 10 ms apart
    put(folder_ / "run.log", "mine");
  }
  EXPECT_FALSE(OutputFolder(folder_.path()).is_own("run.log"));
}

/// Distrusts manifests: others' projects may have one.
TEST_F(OutputFolderTest, OwnsNothingBelowOrAboveItself) {
  { OutputFolder(folder_ / "out").write("record.json", "{}"); }
  std::ofstream(folder_ / "precious") << "mine";
  std::filesystem::create_directories(folder_ / "out" / "src");
  put(folder_ / "out" / "src" / "main.cpp", "mine");
  std::ofstream(folder_ / "out" / ".linkgain", std::ios::app)
      << "- * ../precious\n- * notes\n- * " << (folder_ / "precious").string()
      << "\nd src\nd src/deep\n- * src/deep/main.cpp\n- 1:1.000000000 src/main.cpp\n";
  const OutputFolder folder(folder_ / "out");
  EXPECT_FALSE(folder.is_own("../precious"));
  EXPECT_FALSE(folder.is_own("src"));
}

TEST_F(OutputFolderTest, TouchesNothingOfOthers) {
  OutputFolder folder(folder_.path());
  std::ofstream(folder_ / "report.md") << "mine";
  EXPECT_THROW(folder.claim("report.md"), UsageError);
  EXPECT_THROW(folder.write("report.md", "new"), UsageError);
  folder.remove("report.md");
  folder.write("record.json", "{}");
  EXPECT_THROW(folder.rename("record.json", "report.md"), UsageError);
  EXPECT_EQ(read_text(folder_ / "report.md"), "mine");
  EXPECT_EQ(read_text(folder_ / "record.json"), "{}");
}

TEST_F(OutputFolderTest, StaysTheOneThatWasOpened) {
  const std::filesystem::path asked = folder_ / "out";
  const std::filesystem::path victim = folder_ / "victim";
  OutputFolder folder(asked);
  folder.write("record.json", "first");
  std::filesystem::rename(asked, folder_ / "moved");
  std::filesystem::create_directory(victim);
  std::ofstream(victim / "record.json") << "mine";
  std::filesystem::create_directory_symlink(victim, asked);
  folder.write("record.json", "second");
  std::ofstream(folder.claim("run.log")) << "a line";
  EXPECT_EQ(folder.path(), folder_ / "moved");
  EXPECT_EQ(read_text(victim / "record.json"), "mine");
  EXPECT_FALSE(std::filesystem::exists(victim / "run.log"));
  EXPECT_EQ(read_text(folder_ / "moved" / "record.json"), "second");
}

}  // namespace
}  // namespace linkgain::test
