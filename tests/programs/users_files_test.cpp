#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "programs.hpp"

/// What commands do in a folder full of a user's files that have the names of theirs.
namespace linkgain::test {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

/// Every name that a command gives a file or a folder by itself, beside those below it.
const Words kNames{"record.json",      "report.md",         "report.html",     "run.log",
                   "journal.jsonl",    "record.json.old",   "report.md.old",   "report.html.old",
                   "run.log.old",      "journal.jsonl.old", "record.json.tmp", ".lock",
                   "journal.jsonl.new"};
const Words kFolders{"jobs", "runs", "jobs.old", "runs.old"};
/// Files that its arguments name.
const Words kFiles{"base.json", "unit.xml", "node.prom", "answer.svg", "page.html"};

class UsersFiles : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    fs::create_directory(here());
  }

  fs::path here() const { return folder_ / "project"; }

  void put(const fs::path& path) const {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "the user's " << path.filename().string();
  }

  void fill() const {
    for (const std::string& name : kNames) put(here() / name);
    for (const std::string& name : kFiles) put(here() / name);
    for (const std::string& name : kFolders) {
      put(here() / name / "p2p-1.log");
      put(here() / name / "train" / "weights.pt");
    }
  }

  /// Reads what is there: of files their text, of folders "/".
  std::map<std::string, std::string> content() const {
    std::map<std::string, std::string> found;
    for (const auto& each : fs::recursive_directory_iterator(here())) {
      found[each.path().lexically_relative(here())] =
          each.is_directory() ? "/" : read_text(each.path());
    }
    return found;
  }

  Outcome linkgain_here(const Words& words) const {
    ProgramRequest request = linkgain(folder_, words);
    request.directory = here();
    request = on_machine("h200x2", request);
    return run_program(request);
  }

  /// Makes a record and a baseline beside the project.
  void measure() const {
    const Outcome run =
        linkgain_here({"run", "--backend", "mpi", "--only", "all_reduce", "--sizes", "64",
                       "--launches", "2", "--budget", "5", "--out", "../done"});
    ASSERT_EQ(run.status, 0) << run.error;
    ASSERT_EQ(linkgain_here({"baseline", "../done", "-o", "../base.json"}).status, 0);
  }

  Outcome bench_here(const Words& words) const {
    ProgramRequest request =
        quick_bench(2, joined({"--only", "all_reduce", "--sizes", "64"}, words));
    request.directory = here();
    return run_program(request);
  }

  ScratchFolder folder_;
};

const std::vector<Words> kCommands{
    {"run", "--backend", "mpi", "--only", "all_reduce", "--sizes", "64", "--out", "."},
    {"run", "--backend", "mpi", "--profile", "soak", "--budget", "5", "--out", "."},
    {"run", "--resume", "."},
    {"exec", "--rounds", "1", "--out", ".", "--", "true"},
    {"report", "../done", "--format", "svg", "-o", "answer.svg"},
    {"report", "../done", "--format", "html", "-o", "page.html"},
    {"baseline", "../done", "-o", "base.json"},
    {"check", "../done", "--baseline", "../base.json", "--junit", "unit.xml"},
    {"check", "../done", "--baseline", "../base.json", "--prometheus", "node.prom"},
    {"doctor", "--junit", "unit.xml"},
    {"doctor", "--prometheus", "node.prom"},
    {"fleet", "..", "--prometheus", "node.prom"}};

TEST_F(UsersFiles, AreAsTheyWereAfterEveryCommand) {
  measure();
  fill();
  const auto before = content();
  for (const Words& command : kCommands) {
    std::string words;
    for (const std::string& word : command) words += word + " ";
    for (int i = 0; i < 2; ++i) {
      const Outcome outcome = linkgain_here(command);
      EXPECT_EQ(outcome.status, 2) << words << outcome.error;
      EXPECT_EQ(outcome.output, "") << words << "was begun";
      EXPECT_EQ(content(), before) << words;
    }
  }
}

/// Puts one at a time: none is seen because of another.
TEST_F(UsersFiles, AreSeenOneByOne) {
  for (const std::string name : {"record.json", "report.md", "report.html", "run.log",
                                 "journal.jsonl", "runs/mine", "runs/p2p-1.log"}) {
    fs::remove_all(here());
    put(here() / name);
    const auto before = content();
    const Outcome outcome = linkgain_here({"exec", "--rounds", "1", "--out", ".", "--", "true"});
    EXPECT_EQ(outcome.status, 2) << name;
    EXPECT_THAT(outcome.error, HasSubstr(fs::path(name).begin()->string())) << name;
    EXPECT_EQ(content(), before) << name;
  }
}

TEST_F(UsersFiles, OfOtherNamesStayBesideThoseOfRuns) {
  for (const std::string name : {"notes.md", "jobs/train.pt", ".lock", "record.json.bak"}) {
    put(here() / name);
  }
  const auto before = content();
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = linkgain_here({"exec", "--rounds", "1", "--out", ".", "--", "true"});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_EQ(outcome.error.find("is now record.json.old") != std::string::npos, i > 0)
        << outcome.error;
    const auto after = content();
    for (const auto& [path, text] : before) EXPECT_EQ(after.at(path), text) << path;
  }
  EXPECT_TRUE(fs::exists(here() / "runs.old"));
  // From then on these are the user's, too.
  put(here() / "runs" / "notes");
  const auto changed = content();
  EXPECT_EQ(linkgain_here({"exec", "--rounds", "1", "--out", ".", "--", "true"}).status, 2);
  EXPECT_EQ(content(), changed);
}

TEST_F(UsersFiles, OfLinkgainsKindAreReplaced) {
  measure();
  const std::vector<Words> commands{
      {"report", "../done", "--format", "svg", "-o", "answer.svg"},
      {"report", "../done", "--format", "html", "-o", "page.html"},
      {"baseline", "../done", "-o", "base.json"},
      {"check", "../done", "--baseline", "../base.json", "--junit", "unit.xml"},
      {"check", "../done", "--baseline", "../base.json", "--prometheus", "node.prom"},
      {"doctor", "--junit", "unit.xml"},
      {"fleet", "..", "--prometheus", "node.prom"}};
  for (const Words& command : commands) {
    for (int i = 0; i < 2; ++i) {
      const Outcome outcome = linkgain_here(command);
      EXPECT_NE(outcome.status, 2) << command.front() << outcome.error;
    }
  }
}

TEST_F(UsersFiles, AreNotReplacedByLinkgainBench) {
  fill();
  const auto before = content();
  EXPECT_EQ(bench_here({"--benchmark_out=base.json"}).status, 2);
  EXPECT_EQ(bench_here({"--benchmark_out=base.json", "--benchmark_out_format=csv"}).status, 2);
  EXPECT_EQ(content(), before);
  for (const std::string format : {"json", "csv"}) {
    for (int i = 0; i < 2; ++i) {
      const Outcome outcome =
          bench_here({"--benchmark_out=own." + format, "--benchmark_out_format=" + format});
      EXPECT_EQ(outcome.status, 0) << format << outcome.error;
    }
  }
}

/// Writes nothing into a folder that is put in the place of a run's.
TEST_F(UsersFiles, OfAFolderThatTakesARunsPlaceStay) {
  ProgramRequest request = linkgain(folder_, {"exec", "--rounds", "2", "--variant", "p2p", "--out",
                                              "out", "--", "sh", "-c", "touch begun; sleep 1"});
  request.directory = here();
  request.environment["LINKGAIN_NVML_LIBRARY"] = "/nonexistent";
  Program program(request);
  ASSERT_TRUE(comes_true([&] { return fs::exists(here() / "begun"); }, 60.0)) << program.error();
  fs::rename(here() / "out", here() / "moved");
  for (const std::string name : {"record.json", "report.md", "runs/p2p-2.log"}) {
    put(here() / "victim" / name);
  }
  fs::create_directory_symlink("victim", here() / "out");
  const Outcome outcome = with_status(0, program.finish(60.0));
  EXPECT_EQ(read_text(here() / "victim" / "record.json"), "the user's record.json");
  EXPECT_EQ(read_text(here() / "victim" / "runs" / "p2p-2.log"), "the user's p2p-2.log");
  EXPECT_FALSE(fs::exists(here() / "victim" / "run.log"));
  EXPECT_TRUE(fs::exists(here() / "moved" / "record.json"));
  EXPECT_THAT(outcome.output, HasSubstr("linkgain report moved"));
}

}  // namespace
}  // namespace linkgain::test
