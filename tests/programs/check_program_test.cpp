// `linkgain baseline` and `linkgain check` as their users run them, on a record of two H200 whose
// launches are multiplied.
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "programs.hpp"
#include "support/other_readers.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

/// The record's two cases that are kept: 64 KiB and 1 GiB.
constexpr const char* kLarge = "all_reduce/float32/sum/1GiB/np2";
constexpr const char* kSmall = "all_reduce/float32/sum/64KiB/np2";

/// Keeps the rows of every column for which `keep` is set.
void filter_columns(Json& columns, const std::vector<bool>& keep) {
  for (Json& column : columns) {
    if (!column.empty() && column.front().is_array()) {
      filter_columns(column, keep);
      continue;
    }
    Json kept = Json::array();
    for (std::size_t i = 0; i < keep.size(); ++i) {
      if (keep[i]) kept.push_back(column[i]);
    }
    column = kept;
  }
}

/// Returns the real record with two of its 28 cases.
Json small_record() {
  const std::string file = RESULTS_FOLDER "/2xH200-all_reduce-1/record.json";
  Json record = Json::parse(read_text(file));
  Json cases = Json::array();
  std::vector<int> new_index;
  for (const Json& each : record["cases"]) {
    const bool wanted = each["case"] == kLarge || each["case"] == kSmall;
    new_index.push_back(wanted ? static_cast<int>(cases.size()) : -1);
    if (wanted) cases.push_back(each);
  }
  record["cases"] = cases;
  std::vector<bool> keep;
  for (Json& index : record["samples"]["case"]) {
    index = new_index[index.get<std::size_t>()];
    keep.push_back(index >= 0);
  }
  filter_columns(record["samples"], keep);
  return record;
}

/// Multiplies the times of one case, of all cases where it is -1: its samples and what follows from
/// them.
void slow_down(Json& record, int case_index, double factor) {
  for (std::size_t i = 0; i < record["cases"].size(); ++i) {
    if (case_index >= 0 && static_cast<int>(i) != case_index) continue;
    for (Json& variant : record["cases"][i]["variants"]) {
      if (variant["time_s"].is_number()) {
        variant["time_s"] = factor * variant["time_s"].get<double>();
      }
    }
  }
  for (Json& times : record["samples"]["seconds_by_rank"]) {
    for (std::size_t i = 0; i < times.size(); ++i) {
      const bool meant = case_index < 0 || record["samples"]["case"][i] == case_index;
      if (meant && times[i].is_number()) times[i] = factor * times[i].get<double>();
    }
  }
}

class CheckProgram : public ::testing::Test {
 protected:
  /// Returns a run whose launch was `factor` times as slow as the recorded one.
  Json run_like(double factor, const std::string& started) const {
    Json record = recorded_;
    record["started"] = started;
    slow_down(record, -1, factor);
    return record;
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  Outcome run(const Words& arguments) const { return run_linkgain(folder_, arguments); }

  /// Makes b.json from `launches` runs that scatter by half a percent.
  Outcome make_baseline(int launches) const {
    Words arguments{"baseline", "-o", "b.json"};
    for (int i = 0; i < launches; ++i) {
      const std::string name = "before-" + std::to_string(i) + ".json";
      write(name, run_like(1.0 + 0.005 * std::cos(2.3 * i), "before-" + std::to_string(i)).dump());
      arguments.push_back(name);
    }
    return run(arguments);
  }

  /// Runs `linkgain check` on a record and another launch of it.
  Outcome check(const Json& record, const Words& more = {}) const {
    Json again = record;
    again["started"] = "again";
    slow_down(again, -1, 1.001);
    write("after.json", record.dump());
    write("again.json", again.dump());
    return run(joined({"check", "after.json", "again.json", "--baseline", "b.json"}, more));
  }

  const ScratchFolder folder_;
  static inline const Json recorded_ = small_record();
};

TEST_F(CheckProgram, PassesALikeRun) {
  const Outcome made = with_status(0, make_baseline(8));
  EXPECT_THAT(made.output, AllOf(StartsWith("2 x NVIDIA H200, NVLink, NCCL 2.28: "),
                                 HasSubstr("p2p/all_reduce/stream/256MiB-4GiB"),
                                 HasSubstr("\nbaseline: b.json\n"), Not(HasSubstr("warning"))));
  const Outcome same = with_status(0, check(run_like(1.002, "after")));
  EXPECT_THAT(same.output, AllOf(HasSubstr("\n\nPASSED: 0 of 4"), HasSubstr("4 same;")));
}

TEST_F(CheckProgram, FailsASlowerCase) {
  make_baseline(8);
  Json slower = run_like(1.0, "after");
  slow_down(slower, 1, 1.08);
  const Outcome outcome = with_status(1, check(slower));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("  slower *  all_reduce 1 GiB  p2p "),
                                    HasSubstr("FAILED: 2 of 4"), HasSubstr("(2 slower); 2 same;")));
  EXPECT_LE(widest_line(outcome.output), kTerminalColumns) << outcome.output;
  EXPECT_EQ(check(slower, {"--tolerance", "20%"}).status, 0);
  EXPECT_THAT(check(slower, {"--format", "md"}).output, HasSubstr("| **slower** | `all_reduce"));
  EXPECT_THAT(check(slower, {"--format", "csv"}).output, StartsWith("case,variant,verdict,"));
}

TEST_F(CheckProgram, IsInconclusiveOnOneLaunch) {
  make_baseline(8);
  write("one.json", run_like(1.0, "after").dump());
  write("slow.json", run_like(2.0, "after").dump());
  for (const char* record : {"one.json", "slow.json"}) {
    const Outcome outcome = run({"check", record, "--baseline", "b.json", "--json"});
    EXPECT_EQ(outcome.status, 7);
    EXPECT_EQ(Json::parse(outcome.output)["counts"]["inconclusive"], 4);
  }
  make_baseline(1);
  EXPECT_EQ(check(run_like(1.0, "after")).status, 7) << "nor on a baseline of one";
}

TEST_F(CheckProgram, FailsAMissingCaseWrongDataAndAnotherPath) {
  make_baseline(8);
  Json missing = run_like(1.0, "after");
  Json& skipped = missing["cases"][1]["variants"][0];
  skipped["skipped"] = "out of memory";
  for (const char* key : {"time_s", "algbw_gb_per_s", "busbw_gb_per_s", "skew"}) {
    skipped[key] = nullptr;
  }
  for (const char* key : {"samples", "unhealthy_samples", "power_capped_samples"}) {
    skipped["health"][key] = 0;
  }
  missing["cases"][1]["ratios"] = Json::array();
  std::vector<bool> keep;
  for (std::size_t i = 0; i < missing["samples"]["case"].size(); ++i) {
    keep.push_back(missing["samples"]["case"][i] != 1 || missing["samples"]["variant"][i] != 0);
  }
  filter_columns(missing["samples"], keep);
  missing["cases"][0]["variants"][0]["path"] = "host-memory";
  missing["cases"][0]["variants"][1]["verification"]["wrong"] = 3;
  missing["exit_code"] = 4;
  const Outcome outcome = with_status(1, check(missing));
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("out of memory"), HasSubstr("nvlink"), HasSubstr("host-memory"),
                    HasSubstr("3 of "), HasSubstr("FAILED: ")));
}

TEST_F(CheckProgram, ReportsAPathThatIsNotKnownAnyMore) {
  make_baseline(8);
  Json blind = run_like(1.0, "after");
  for (Json& each : blind["cases"]) {
    each["variants"][0]["path"] = "unknown";
    each["variants"][0].erase("evidence");
  }
  const Outcome outcome = with_status(7, check(blind));
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("unknown-path *  all_reduce 1 GiB   p2p "), HasSubstr("nvlink"),
                    HasSubstr("INCONCLUSIVE: 0 of 4"), HasSubstr("2 unknown-path, 2 same;")));
}

TEST_F(CheckProgram, RefusesABaselineThatMakesEveryDifferenceCertain) {
  make_baseline(8);
  Json baseline = Json::parse(read_text(folder_ / "b.json"));
  baseline["cases"][0]["spread"] = 0;
  write("b.json", baseline.dump());
  const Outcome outcome = with_status(2, check(run_like(1.0, "after")));
  EXPECT_THAT(outcome.error, HasSubstr("deviation of 0"));
}

TEST_F(CheckProgram, IsInconclusiveOnAWeakBaseline) {
  const Outcome weak = with_status(0, make_baseline(2));
  EXPECT_THAT(weak.output, HasSubstr("only 2 launches"));
  const Outcome outcome = with_status(7, check(run_like(1.03, "after"), {"--tolerance", "4%"}));
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("\nINCONCLUSIVE: 0 of 4"), HasSubstr("only 2 launches")));
}

TEST_F(CheckProgram, RefusesAnotherMachineAndABrokenBaseline) {
  make_baseline(2);
  Json other = run_like(1.0, "after");
  other["machine"]["software"]["nccl_library"] = "2.27.1";
  const Outcome outcome = with_status(2, check(other));
  EXPECT_EQ(outcome.output, "");
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("NCCL"), HasSubstr("2.28"), HasSubstr("2.27")));
  write("mixed.json", other.dump());
  EXPECT_THAT(run({"baseline", "before-0.json", "mixed.json", "-o", "c.json"}).error,
              AllOf(HasSubstr("before-0.json"), HasSubstr("mixed.json"), HasSubstr("NCCL")));
  Json baseline = Json::parse(read_text(folder_ / "b.json"));
  baseline["schema"] = "linkgain.baseline/9";
  write("b.json", baseline.dump());
  const Outcome newer = with_status(2, check(run_like(1.0, "after")));
  EXPECT_THAT(newer.error, HasSubstr("linkgain.baseline/9"));
}

TEST_F(CheckProgram, FollowsAnEditedBaseline) {
  make_baseline(8);
  const Json slower = run_like(1.08, "after");
  EXPECT_EQ(check(slower).status, 1);
  Json baseline = Json::parse(read_text(folder_ / "b.json"));
  baseline["overrides"] = {{{"cases", "*"}, {"upper", nullptr}}};
  write("b.json", baseline.dump());
  EXPECT_EQ(check(slower).status, 0);
  EXPECT_EQ(check(slower, {"--tolerance", "5%"}).status, 1) << "the option wins";
}

TEST_F(CheckProgram, WritesFilesForOtherPrograms) {
  make_baseline(8);
  const Outcome outcome = with_status(
      1, check(run_like(1.08, "after"), {"--json", "--junit", "c.xml", "--prometheus", "c.prom"}));
  const Json json = Json::parse(outcome.output);
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["cases"].size(), 4);
  EXPECT_THAT(read_text(folder_ / "c.prom"), HasSubstr("\nlinkgain_check_exit_status 1\n"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "c.prom.tmp"));
  const Outcome twice = with_status(2, check(run_like(1.08, "after"), {"--prometheus", "d.prom"}));
  EXPECT_THAT(twice.error, HasSubstr("c.prom has"));
  if (!is_on_path("python3")) GTEST_SKIP() << "no python3 on PATH to read the XML with";
  ProgramRequest parse;
  parse.arguments = {"python3", "-c",
                     "import xml.etree.ElementTree as tree\n"
                     "print(tree.parse('c.xml').getroot().get('failures'))"};
  parse.directory = folder_.path();
  EXPECT_EQ(run_program(parse).output, "4\n");
}

/// Keeps a node that lost a link from staying exported as one that passed.
TEST_F(CheckProgram, LeavesNoFilesOfAnEarlierCheckWhereNothingIsChecked) {
  make_baseline(8);
  const Words files{"--junit", "c.xml", "--prometheus", "c.prom"};
  Json other = run_like(1.0, "after");
  for (const Json& rank : Json(other["machine"]["ranks"])) {
    other["machine"]["ranks"].push_back(rank);
  }
  const auto expect_told = [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.status, 2) << outcome.error;
    EXPECT_THAT(read_text(folder_ / "c.prom"), HasSubstr("\nlinkgain_check_exit_status 2\n"));
    EXPECT_THAT(read_text(folder_ / "c.xml"), HasSubstr("<failure type=\"error\""));
    with_status(0, check(run_like(1.0, "after"), files));
    EXPECT_THAT(read_text(folder_ / "c.prom"), HasSubstr("\nlinkgain_check_exit_status 0\n"));
  };
  with_status(0, check(run_like(1.0, "after"), files));
  expect_told(check(other, files));
  expect_told(run(joined({"check", "no-such-run", "--baseline", "b.json"}, files)));
  expect_told(run(joined({"check", "before-0.json", "--baseline", "no.json"}, files)));
}

TEST_F(CheckProgram, PrometheusFilePassesPromtool) {
  if (!has_promtool()) GTEST_SKIP() << kNoPromtool;
  make_baseline(8);
  check(run_like(1.0, "after"), {"--prometheus", "c.prom"});
  EXPECT_EQ(promtool_complaints(read_text(folder_ / "c.prom")), "");
}

/// Covers a run whose small cases go by graph, against a baseline by stream.
TEST_F(CheckProgram, LeavesOpenWhatTheOtherLaunchModeMeasured) {
  make_baseline(8);
  std::string text = run_like(1.0, "after").dump();
  const std::string small = kSmall;
  for (std::size_t at = text.find(small); at != std::string::npos; at = text.find(small, at + 1)) {
    text.insert(at + small.size(), "/graph");
  }
  const Outcome outcome = check(Json::parse(text), {"--json"});
  EXPECT_EQ(outcome.status, 7) << "half of the cases";
  Words verdicts;
  const Json json = Json::parse(outcome.output);
  for (const Json& each : json["cases"]) verdicts.push_back(each["verdict"]);
  EXPECT_THAT(verdicts, UnorderedElementsAre("other-launch", "other-launch", "same", "same",
                                             "added", "added"));
}

TEST_F(CheckProgram, SaysWhatCannotBeWritten) {
  make_baseline(2);
  const Outcome outcome =
      with_status(2, check(run_like(1.0, "after"), {"--junit", "no/such/folder/c.xml"}));
  EXPECT_THAT(outcome.error, HasSubstr("cannot write no/such/folder/c.xml"));
  EXPECT_THAT(outcome.error, Not(HasSubstr("--out"))) << "an option of others";
  EXPECT_EQ(run({"baseline", "before-0.json", "-o", "no/such/b.json"}).status, 2);
}

/// Runs each command in a folder with the run w, the baseline bl.json, and a link to w's record.
TEST_F(CheckProgram, NoOutputReplacesAnInputOrAnotherOutput) {
  make_baseline(2);
  std::filesystem::rename(folder_ / "b.json", folder_ / "bl.json");
  std::filesystem::create_directory(folder_ / "w");
  write("w/record.json", run_like(1.0, "after").dump());
  std::filesystem::create_symlink("w/record.json", folder_ / "link.json");
  const std::string record = read_text(folder_ / "w" / "record.json");
  const std::string baseline = read_text(folder_ / "bl.json");
  const std::vector<Words> all{
      {"baseline", "w", "-o", "w/record.json"},
      {"baseline", "w", "-o", "w/journal.jsonl"},
      {"baseline", "link.json", "-o", "w/../w/record.json"},
      {"check", "w", "--baseline", "bl.json", "--junit", "bl.json"},
      {"check", "w", "--baseline", "bl.json", "--prometheus", "w/record.json"},
      {"check", "w", "--baseline", "bl.json", "--junit", "p", "--prometheus", "w/../p"},
      {"fleet", "w", "--prometheus", "w/record.json"},
      {"doctor", "--junit", "p", "--prometheus", "p"}};
  Situations refusals;
  for (const Words& arguments : all) {
    const Outcome outcome = run(arguments);
    const std::string command = line_of("linkgain", arguments);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_EQ(outcome.output, "") << command;
    refusals.add(command, outcome.error);
  }
  EXPECT_EQ(read_text(folder_ / "w" / "record.json"), record);
  EXPECT_EQ(read_text(folder_ / "bl.json"), baseline);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "p"));
  refusals.expect_golden("same_files.txt");
}

/// On what `linkgain run` leaves behind here, given by its directory.
class CheckOfARun : public MpiTest {};

TEST_F(CheckOfARun, HoldsTwoRunsAgainstEachOther) {
  const ScratchFolder folder;
  for (const char* name : {"before", "after"}) {
    const Outcome run =
        run_linkgain(folder, {"run", "--backend", "mpi", "--np", "2", "--only", "all_reduce",
                              "--sizes", "1M", "--variant", "tcp", "--launches", "3", "--quiet",
                              "--ci-width", "0.5", "--out", name});
    ASSERT_EQ(run.status, 0) << run.error;
  }
  ASSERT_EQ(run_linkgain(folder, {"baseline", "before", "-o", "b.json"}).status, 0);
  const Outcome outcome = run_linkgain(
      folder, {"check", "after", "--baseline", "b.json", "--json", "--tolerance", "99%"});
  EXPECT_TRUE(outcome.status == 0 || outcome.status == 7) << outcome.output << outcome.error;
  const Json json = Json::parse(outcome.output);
  ASSERT_EQ(json["cases"].size(), 1);
  EXPECT_EQ(json["cases"][0]["launches"], 3);
  EXPECT_EQ(json["key"]["backend"], "mpi");
}

}  // namespace
}  // namespace linkgain::test
