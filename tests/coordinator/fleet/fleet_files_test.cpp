#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "linkgain/base/errors.hpp"
#include "linkgain/fleet/fleet_record.hpp"
#include "support/fleet_records.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class FleetFiles : public ::testing::Test {
 protected:
  FleetFiles() {
    std::string name = ::testing::TempDir() + "linkgain_fleet_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~FleetFiles() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  std::filesystem::path folder_;
};

TEST_F(FleetFiles, FindsRecordsAndJournalsOfUnfinishedRuns) {
  write("a/record.json", "{}");
  write("a/record.json.old", "{}");
  const auto first = write("a/journal.jsonl", "");
  write("a/report.md", "");
  const auto second = write("b/journal.jsonl", "");
  const auto third = write("node7.json", "{}");
  EXPECT_THAT(find_fleet_files({folder_}), ElementsAre(first, second, third));
  EXPECT_THAT(find_fleet_files({third, folder_ / "a", third}), ElementsAre(first, third));
  EXPECT_THROW(find_fleet_files({folder_ / "c"}), UsageError);
}

TEST_F(FleetFiles, TakesAnyJournalThatIsNotARecords) {
  write("a/record.json", "{}");
  write("a/first.jsonl", "");
  const auto alone = write("b/first.jsonl", "");
  const auto other = write("a/topology.json", "{}");
  EXPECT_THAT(find_fleet_files({folder_}), ElementsAre(folder_ / "a/record.json", other, alone));
}

TEST_F(FleetFiles, FollowsNoLinkToAFolder) {
  const auto record = write("a/record.json", "{}");
  std::filesystem::create_directory_symlink(folder_, folder_ / "a" / "up");
  EXPECT_THAT(find_fleet_files({folder_}), ElementsAre(record));
}

TEST_F(FleetFiles, NameAFolderThatMayNotBeRead) {
  namespace fs = std::filesystem;
  const fs::path record = write("a/record.json", "{}");
  write("a/jobs/log.json", "{}");
  write("b/record.json", "{}");
  fs::permissions(folder_, fs::perms{0755});
  for (const char* closed : {"a/jobs", "b"}) fs::permissions(folder_ / closed, fs::perms::none);
  // Root reads every folder; anybody else does not.
  constexpr uid_t kNobody = 65534;
  const bool is_root = geteuid() == 0;
  ASSERT_EQ(is_root ? seteuid(kNobody) : 0, 0);
  const std::vector<fs::path> found = find_fleet_files({folder_});
  FleetNames names;
  const FleetRecord read = read_fleet_record(folder_ / "b", names);
  ASSERT_EQ(is_root ? seteuid(0) : 0, 0);
  for (const char* closed : {"a/jobs", "b"}) fs::permissions(folder_ / closed, fs::perms{0755});
  EXPECT_THAT(found, ElementsAre(record, folder_ / "b")) << "what is part of a run is no node";
  EXPECT_THAT(read.problem, HasSubstr("Permission denied"));
}

TEST_F(FleetFiles, AreRefusedWhereTheyAreNone) {
  const std::filesystem::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Situations answers;
  for (const std::string name : {"none", "pipe"}) {
    const std::string refusal = refusal_of([&] { find_fleet_files({folder_ / name}); });
    answers.add(name, with_replaced(refusal, folder_.string(), "results"));
  }
  FleetNames names;
  answers.add("a pipe read as a record", read_fleet_record(pipe, names).problem);
  answers.add("a folder read as a record", read_fleet_record(folder_, names).problem);
  answers.expect_golden("files_refused.txt");
}

TEST_F(FleetFiles, ReadsAllAndOneBrokenFileCostsOnlyItself) {
  for (int i = 0; i < 40; ++i) {
    Record record = fleet_node("node" + std::to_string(i), static_cast<std::uint64_t>(i));
    add_fleet_samples(record, 2);
    const std::string text = to_json(record);
    write("n" + std::to_string(i) + "/record.json", i == 17 ? text.substr(0, 3000) : text);
  }
  for (const int threads : {0, 1, 3, 100}) {
    FleetNames names;
    const std::vector<FleetRecord> records =
        read_fleet(find_fleet_files({folder_}), names, threads);
    ASSERT_THAT(records, SizeIs(40));
    int broken = 0;
    for (const FleetRecord& record : records) {
      broken += record.problem.empty() ? 0 : 1;
      EXPECT_THAT(record.values, SizeIs(record.problem.empty() ? 40 : 0));
    }
    EXPECT_EQ(broken, 1);
    EXPECT_THAT(names.all(), SizeIs(40));
  }
}

/// Covers records of a build that has more operations: each costs itself alone.
TEST_F(FleetFiles, OfAnotherBuildCostOnlyThemselves) {
  for (int i = 0; i < 6; ++i) {
    Record record = fleet_node("node" + std::to_string(i), static_cast<std::uint64_t>(i));
    add_fleet_samples(record, 2);
    std::string text = to_json(record);
    text.erase(text.rfind(",\n\"digest\""));
    if (i < 3) text = with_replaced(text, "\"all_reduce/", "\"all_shuffle/");
    write("n" + std::to_string(i) + "/record.json", text + "}");
  }
  FleetNames names;
  const std::vector<FleetRecord> records = read_fleet(find_fleet_files({folder_}), names, 1);
  ASSERT_THAT(records, SizeIs(6));
  for (int i = 0; i < 6; ++i) {
    const FleetRecord& record = records[static_cast<std::size_t>(i)];
    EXPECT_EQ(record.problem.empty(), i >= 3) << record.problem;
    if (i < 3) {
      EXPECT_THAT(record.problem, HasSubstr("unknown operation 'all_shuffle'"));
    }
  }
  EXPECT_THAT(names.all(), SizeIs(40));
}

}  // namespace
}  // namespace linkgain::test
