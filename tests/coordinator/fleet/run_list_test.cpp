#include "linkgain/fleet/run_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "linkgain/base/text.hpp"
#include "linkgain/record/journal.hpp"
#include "support/full_record.hpp"
#include "support/program.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::SizeIs;

class RunList : public ::testing::Test {
 protected:
  /// Adds a run of that day in November; returns its directory.
  std::filesystem::path add(const std::string& name, int day, const std::string& label) {
    const std::filesystem::path directory = folder_.path() / name;
    std::filesystem::create_directories(directory);
    std::ofstream(directory / "record.json") << to_json(record_of(day, label));
    return directory;
  }

  static Record record_of(int day, const std::string& label) {
    Record record = full_record();
    record.started = "2026-11-" + std::to_string(day) + "T08:30:00Z";
    record.settings.label = label;
    return record;
  }

  /// Leaves out the scratch folder's own name.
  std::string shown(const std::string& text) const {
    return with_replaced(text, folder_.path().string(), "results");
  }

  std::string refusal(const std::string& name) const {
    return shown(refusal_of([&] { find_run(name, folder_.path()); }));
  }

  ScratchFolder folder_;
};

TEST_F(RunList, TakesNoRunInTheFutureForTheLatest) {
  const std::filesystem::path latest = add("b", 20, "");
  add("a", 19, "");
  const auto date = [this](const std::string& name, const std::string& started) {
    Record record = record_of(20, "");
    record.started = started;
    std::ofstream(folder_.path() / name / "record.json") << to_json(record);
  };
  date("b", "2020-01-02T00:00:00Z");
  date("a", "2020-01-01T00:00:00Z");
  add("c", 21, "");
  date("c", "2999-01-01T00:00:00Z");
  EXPECT_EQ(latest_run(folder_.path()), latest);
  const std::vector<ListedRun> runs = list_runs(folder_.path());
  EXPECT_TRUE(runs.back().is_in_future);
  EXPECT_NE(run_list_csv(runs).find("2999-01-01"), std::string::npos);
  EXPECT_NE(to_markdown(run_list(runs, folder_.path())).find("(future)"), std::string::npos);
}

TEST_F(RunList, KnowsTheLatestRun) {
  const auto refused = [this] { return shown(refusal_of([&] { latest_run(folder_.path()); })); };
  Situations situations;
  situations.add("an empty folder", refused());
  const std::filesystem::path broken = folder_.path() / "broken";
  std::filesystem::create_directories(broken);
  std::ofstream(broken / "record.json") << "{";
  situations.add("a record that cannot be read", refused());
  situations.expect_golden("latest_run.txt");
  add("b", 20, "");
  const std::filesystem::path latest = add("deep/c", 22, "");
  add("d", 21, "");
  EXPECT_EQ(latest_run(folder_.path()), latest);
}

TEST_F(RunList, HasTheNewestFirstAndWhatCannotBeReadLast) {
  add("b", 20, "before");
  add("deep/c", 22, "");
  const std::filesystem::path cut = folder_.path() / "cut";
  std::filesystem::create_directories(cut);
  JournalWriter journal(cut / "journal.jsonl");
  journal.write_head(record_of(21, "after"));
  const std::filesystem::path broken = folder_.path() / "broken";
  std::filesystem::create_directories(broken);
  std::ofstream(broken / "record.json") << "{\"schema\": \"linkgain.record/1\"";
  std::ofstream(folder_.path() / "other.json") << "{}";
  std::vector<ListedRun> runs = list_runs(folder_.path());
  ASSERT_THAT(runs, SizeIs(4));
  for (ListedRun& run : runs) run.path = "results" / run.path.lexically_relative(folder_.path());
  Situations screens;
  screens.add("text", to_terminal(run_list(runs, "results")));
  for (const std::size_t columns : {60U, 20U}) {
    const std::string text = to_terminal(run_list(runs, "results"), {.columns = columns});
    for (const std::string& line : split(text, '\n')) EXPECT_LE(display_width(line), columns);
    screens.add("text in " + std::to_string(columns) + " columns", text);
  }
  screens.add("Markdown", to_markdown(run_list(runs, "results")));
  screens.add("CSV", run_list_csv(runs));
  screens.add("JSON", run_list_json(runs));
  screens.expect_golden("run_list.txt");
  EXPECT_EQ(exit_code_of(runs), ExitCode::problem_found);
  runs.erase(runs.begin(), runs.end() - 1);
  EXPECT_EQ(exit_code_of(runs), ExitCode::usage) << "none can be read";
  EXPECT_EQ(exit_code_of(std::vector<ListedRun>{}), ExitCode::success);
}

TEST_F(RunList, SaysHowARunEnded) {
  const auto status_of = [this](const Record& record) {
    std::ofstream(add("a", 20, "") / "record.json") << to_json(record);
    return list_runs(folder_.path()).at(0).status;
  };
  Record record = record_of(20, "");
  record.status = RunStatus::complete;
  EXPECT_EQ(status_of(record), "incomplete") << "not all of its data were checked";
  for (CaseResult& result : record.cases) {
    for (Sample& sample : result.samples) sample.unverified = false;
    for (VariantResult& variant : result.variants)
      variant.verification = Verification{1, 0, 0.0, 0.0, ""};
  }
  EXPECT_EQ(status_of(record), "complete");
  record.warnings.push_back({"fewer-launches", "1 launches instead of 6", ""});
  EXPECT_EQ(status_of(record), "budget used up");
  record.runs.push_back({.variant = record.settings.variants.front().name, .failure = "SIGSEGV"});
  record.status = RunStatus::incomplete;
  EXPECT_EQ(status_of(record), "failed");
}

TEST_F(RunList, MarksRunsThatOtherWorkDisturbed) {
  Record record = record_of(20, "");
  const auto listed = [&](const std::vector<Warning>& warnings) {
    record.warnings = warnings;
    std::ofstream(add("a", 20, "") / "record.json") << to_json(record);
    const std::vector<ListedRun> runs = list_runs(folder_.path());
    return to_markdown(run_list(runs, folder_.path())) + run_list_csv(runs) + run_list_json(runs);
  };
  const std::string quiet = listed({{"left-out", "4 GiB does not fit", ""}});
  EXPECT_EQ(quiet.find(", disturbed"), std::string::npos);
  const std::string busy = listed({{"oversubscribed", "4 ranks share 2 processors", ""},
                                   {"busy-processors", "all of them were busy", ""}});
  for (const char* part : {", disturbed |", ",oversubscribed busy-processors\n",
                           "\"disturbed_by\": \"oversubscribed busy-processors\""}) {
    EXPECT_NE(busy.find(part), std::string::npos) << part;
  }
}

TEST_F(RunList, SaysWhyARunHasNoResult) {
  const auto reason_of = [this](const std::string& text) {
    std::ofstream(add("a", 20, "") / "record.json") << text;
    const ListedRun run = list_runs(folder_.path()).at(0);
    EXPECT_EQ(run.result, "");
    return run.no_result;
  };
  Record record = record_of(20, "");
  record.cases.clear();
  record.status = RunStatus::complete;
  EXPECT_EQ(reason_of(to_json(record)), "no ratio");
  record.status = RunStatus::interrupted;
  EXPECT_EQ(reason_of(to_json(record)), "stopped");
  record.status = RunStatus::job_lost;
  EXPECT_EQ(reason_of(to_json(record)), "failed");
  EXPECT_EQ(reason_of(with_replaced(to_json(record), "linkgain.record/2", "linkgain.record/9")),
            "other version");
  EXPECT_EQ(reason_of("{"), "damaged");
}

TEST_F(RunList, HasFoldersAndRecordsThatMayNotBeRead) {
  namespace fs = std::filesystem;
  add("a", 20, "");
  const fs::path closed = add("b", 21, "");
  const fs::path record = add("c", 22, "") / "record.json";
  fs::permissions(folder_.path(), fs::perms{0755});
  fs::permissions(closed, fs::perms::none);
  fs::permissions(record, fs::perms::none);
  // Root reads every folder; anybody else does not.
  constexpr uid_t kNobody = 65534;
  const bool is_root = geteuid() == 0;
  ASSERT_EQ(is_root ? seteuid(kNobody) : 0, 0);
  const std::vector<ListedRun> runs = list_runs(folder_.path());
  ASSERT_EQ(is_root ? seteuid(0) : 0, 0);
  fs::permissions(closed, fs::perms{0755});
  ASSERT_THAT(runs, SizeIs(3));
  EXPECT_EQ(runs[1].path, closed);
  EXPECT_EQ(runs[2].path, record.parent_path());
  for (const int i : {1, 2}) {
    EXPECT_EQ(runs[i].status, "unreadable");
    EXPECT_EQ(runs[i].no_result, "no access");
  }
  EXPECT_EQ(exit_code_of(runs), ExitCode::problem_found);
}

TEST_F(RunList, NamesARunByItsLabel) {
  const std::filesystem::path before = add("b", 20, "before");
  add("c", 21, "");
  EXPECT_EQ(find_run("before", folder_.path()), before);
  EXPECT_EQ(find_run("c", folder_.path()), folder_.path() / "c") << "as the list shows it";
  EXPECT_EQ(find_run("b", folder_.path()), before);
  for (const std::string& path : {before.string(), std::string("before.json"), std::string("x/y"),
                                  std::string("a.json,b.json"), std::string("")}) {
    EXPECT_EQ(find_run(path, folder_.path()), path);
  }
}

TEST_F(RunList, SaysWhyALabelNamesNoRun) {
  Situations refusals;
  refusals.add("no folder", shown(refusal_of([&] { find_run("x", folder_.path() / "none"); })));
  add("a", 19, "");
  refusals.add("no label in it", refusal("before"));
  add("b", 20, "before");
  add("d", 22, "after");
  refusals.add("another label", refusal("befor"));
  add("c", 21, "before");
  refusals.add("two runs", refusal("before"));
  refusals.add("list of no folder", shown(refusal_of([&] { list_runs(folder_.path() / "none"); })));
  refusals.refuse_each({"", "a b", "a/b", "-x", ".", "a,b", "naïve"}, parse_label);
  refusals.expect_golden("run_labels_refused.txt");
  EXPECT_EQ(parse_label("bridge_2.1+new=x-y"), "bridge_2.1+new=x-y");
  EXPECT_EQ(parse_label(std::string(64, 'a')), std::string(64, 'a'));
  EXPECT_THROW(parse_label(std::string(65, 'a')), UsageError);
}

TEST_F(RunList, NamesTheNewestRunOfAFolderThatIsNone) {
  add("b", 20, "");
  add("deep/c", 22, "");
  add("d", 21, "");
  Situations refusals;
  refusals.add("a folder of runs", shown(refusal_of([&] { find_run(folder_.path()); })));
  refusals.add("one run below", shown(refusal_of([&] { find_run(folder_.path() / "deep"); })));
  refusals.expect_golden("folders_of_runs.txt");
  const std::filesystem::path empty = folder_.path() / "empty";
  std::filesystem::create_directories(empty);
  EXPECT_EQ(find_run(empty), empty) << "its reader says what it lacks";
}

/// Lists a broken record in one line, wherever it breaks off.
TEST_F(RunList, SurvivesARecordCutAnywhere) {
  const std::filesystem::path directory = add("b", 20, "before");
  const std::string text = to_json(record_of(20, "before"));
  for (std::size_t size = 0; size < text.size(); size += 97) {
    std::ofstream(directory / "record.json") << text.substr(0, size);
    ASSERT_THAT(list_runs(folder_.path()), SizeIs(1)) << size;
  }
}

TEST_F(RunList, RefusesASecondRecordBehindANul) {
  const std::filesystem::path directory = add("b", 20, "before");
  const std::string text = to_json(record_of(20, "before"));
  std::ofstream(directory / "record.json") << text << '\0' << text;
  EXPECT_EQ(list_runs(folder_.path()).at(0).status, "unreadable");
}

}  // namespace
}  // namespace linkgain::test
