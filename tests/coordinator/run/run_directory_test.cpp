#include "linkgain/run/run_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <latch>
#include <set>
#include <thread>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"

namespace linkgain::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class RunDirectoryTest : public ::testing::Test {
 protected:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("linkgain-directory-" + std::to_string(::getpid()));
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  RunDirectory open(const std::filesystem::path& path) {
    RunOptions options;
    options.out = path;
    return RunDirectory(options, RunPlan{}, Site{});
  }
};

TEST_F(RunDirectoryTest, MakesTheDirectoryAskedFor) {
  EXPECT_EQ(open(folder_ / "a" / "b").path(), folder_ / "a" / "b");
  EXPECT_TRUE(std::filesystem::is_directory(folder_ / "a" / "b"));
}

TEST_F(RunDirectoryTest, RemovesNcclsLogsOfThePartThatIsResumedAndNothingElse) {
  const std::filesystem::path jobs = folder_ / "jobs";
  std::filesystem::create_directory(jobs);
  for (const char* name : {"nccl-p2p-1.node.17.log", "nccl-p2p-1.node.17.log.now", "p2p-1.log"}) {
    std::ofstream(jobs / name) << "old";
  }
  open(folder_);
  EXPECT_FALSE(std::filesystem::exists(jobs / "nccl-p2p-1.node.17.log"));
  EXPECT_FALSE(std::filesystem::exists(jobs / "nccl-p2p-1.node.17.log.now"));
  EXPECT_TRUE(std::filesystem::exists(jobs / "p2p-1.log"));
}

TEST_F(RunDirectoryTest, FollowsNoLinkInThePlaceOfItsJobs) {
  const std::filesystem::path others = folder_ / "others";
  std::filesystem::create_directory(others);
  std::ofstream(others / "nccl-notes.txt") << "precious";
  std::filesystem::create_directory_symlink(others, folder_ / "jobs");
  EXPECT_THROW(open(folder_), UsageError);
  EXPECT_TRUE(std::filesystem::exists(others / "nccl-notes.txt"));
}

TEST_F(RunDirectoryTest, NamesNcclsLogsByVariantAndLaunch) {
  const RunDirectory directory = open(folder_);
  EXPECT_EQ(directory.nccl_log_pattern("host", 1),
            (directory.jobs() / "nccl-host-2.%h.%p.log").string());
  EXPECT_TRUE(directory.nccl_log_pattern("host", 1).find(directory.nccl_log_prefix("host", 1)) !=
              std::string::npos);
}

// NCCL takes %h and %p for the host and the process, and %% for %.
TEST_F(RunDirectoryTest, NcclTakesNoPartOfTheFoldersNameForItsOwn) {
  const RunDirectory directory = open(folder_ / "50%p2p");
  EXPECT_THAT(directory.nccl_log_pattern("host", 1),
              testing::EndsWith("50%%p2p/jobs/nccl-host-2.%h.%p.log"));
}

TEST_F(RunDirectoryTest, RefusesAFileInItsPlace) {
  std::ofstream(folder_ / "file") << "here";
  EXPECT_THROW(open(folder_ / "file"), UsageError);
}

TEST_F(RunDirectoryTest, SaysThatTheCurrentFolderIsGone) {
  const std::filesystem::path before = std::filesystem::current_path();
  const std::filesystem::path gone = folder_ / "gone";
  std::filesystem::create_directory(gone);
  std::filesystem::current_path(gone);
  std::filesystem::remove(gone);
  std::string said;
  try {
    open("out");
  } catch (const UsageError& error) {
    said = error.what();
  }
  EXPECT_EQ(open(folder_ / "from-the-root").path(), folder_ / "from-the-root");
  std::filesystem::current_path(before);
  EXPECT_THAT(said, HasSubstr("current folder"));
}

/// The name of the folder that a run without --out makes.
std::string default_name(const RunPlan& plan, const Site& site) {
  return RunDirectory(RunOptions{}, plan, site).path().filename();
}

TEST_F(RunDirectoryTest, IsNamedByTimeHostAndGpus) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  RunPlan plan;
  plan.ranks = 2;
  Site site;
  site.host = "node7";
  site.gpu_name = "NVIDIA GeForce RTX 3090";
  EXPECT_THAT(default_name(plan, site), EndsWith("Z_node7_2xGeForce-RTX-3090"));
  site.gpu_name = "Quadro/5.2";
  EXPECT_THAT(default_name(plan, site), EndsWith("_2xQuadro-5.2")) << "a name of one folder";
  plan.backend = BackendKind::mpi;
  EXPECT_THAT(default_name(plan, site), EndsWith("Z_node7_mpi-np2"));
  EXPECT_TRUE(std::filesystem::is_directory(folder_ / "results"));
  std::filesystem::current_path(before);
}

TEST_F(RunDirectoryTest, IsNumberedWhereItIsThereAlready) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  std::vector<std::string> names;
  for (int i = 0; i < 3; ++i) names.push_back(new_run_folder("host", "2xH200"));
  std::filesystem::current_path(before);
  // Not where a second began between them.
  if (names[2].starts_with(names[0])) {
    EXPECT_EQ(names[1], names[0] + "-2");
    EXPECT_EQ(names[2], names[0] + "-3");
  }
}

TEST_F(RunDirectoryTest, IsAnotherOneForEachOfSeveralRunsThatBeginAtOnce) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  constexpr std::size_t kRuns = 8;
  std::vector<std::filesystem::path> paths(kRuns);
  {
    std::latch ready(kRuns);
    std::vector<std::jthread> runs;
    for (std::filesystem::path& path : paths) {
      runs.emplace_back([&] {
        ready.arrive_and_wait();
        path = new_run_folder("host", "2xH200");
      });
    }
  }
  std::filesystem::current_path(before);
  EXPECT_EQ(std::set(paths.begin(), paths.end()).size(), kRuns);
  for (const std::filesystem::path& path : paths) {
    EXPECT_TRUE(std::filesystem::is_directory(path)) << path;
  }
}

TEST_F(RunDirectoryTest, GoesOnInThatOfTheRunThatIsResumed) {
  RunOptions options;
  options.resume = folder_ / "cut";
  options.out = folder_ / "other";
  const RunDirectory directory(options, RunPlan{}, Site{});
  EXPECT_EQ(directory.path(), folder_ / "cut");
  EXPECT_EQ(directory.job_log("host", 0), folder_ / "cut" / "jobs" / "host-1.log");
}

TEST_F(RunDirectoryTest, RefusesWhatCannotBeSetAside) {
  std::ofstream(folder_ / "report.md") << "earlier";
  std::filesystem::create_directories(folder_ / "report.md.old" / "full");
  try {
    set_aside_earlier_run(folder_);
    FAIL() << "renamed over a folder";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("report.md"));
    EXPECT_THAT(error.advice(), HasSubstr("--out"));
  }
  EXPECT_EQ(read_regular_file(folder_ / "report.md").value(), "earlier");
}

TEST_F(RunDirectoryTest, SetsAsideWhatAnEarlierRunLeft) {
  const std::vector<std::string> left{"record.json", "report.md", "report.html", "journal.jsonl",
                                      "run.log"};
  const std::vector<std::string> others{"notes.log", "p2p-1.log", "check.md", "other.json"};
  for (const std::string& name : left) std::ofstream(folder_ / name) << "earlier " << name;
  for (const std::string& name : others) std::ofstream(folder_ / name) << "other";
  std::ofstream(folder_ / "record.json.old") << "much earlier";
  std::filesystem::create_directories(folder_ / "jobs.old");
  std::filesystem::create_directory(folder_ / "jobs");
  std::ofstream(folder_ / "jobs" / "p2p-1.log") << "earlier";
  set_aside_earlier_run(folder_);
  for (const std::string& name : left) {
    EXPECT_FALSE(std::filesystem::exists(folder_ / name)) << name;
    EXPECT_EQ(read_regular_file(folder_ / (name + ".old")).value(), "earlier " + name);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "jobs"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "jobs.old" / "p2p-1.log"));
  for (const std::string& name : others)
    EXPECT_EQ(read_regular_file(folder_ / name).value(), "other") << name;
  set_aside_earlier_run(folder_);
  EXPECT_EQ(read_regular_file(folder_ / "record.json.old").value(), "earlier record.json");
  EXPECT_NO_THROW(set_aside_earlier_run(folder_ / "none"));
}

}  // namespace
}  // namespace linkgain::test
