#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "programs.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const std::string kFirst = RESULTS_FOLDER "/2xH200-all_reduce-1";
const std::string kSecond = RESULTS_FOLDER "/2xH200-all_reduce-2/record.json";
const std::string kNcclTests = CORE_TEST_DATA "/nccl_tests.json";

Outcome compare(const Words& arguments) {
  return run_linkgain(ScratchFolder(), joined({"compare"}, arguments));
}

Json json_of(const Words& arguments) {
  return Json::parse(with_status(0, compare(joined(arguments, {"--json"}))).output);
}

std::string with_replaced(const std::filesystem::path& file, const std::string& what,
                          const std::string& by) {
  std::string text = read_text(file);
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, what.size(), by);
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

TEST(CompareProgram, FindsNoDifferenceBetweenTwoRunsOfOneMachine) {
  const Json comparison = json_of({kFirst, kSecond}).at("comparisons").at(0);
  EXPECT_THAT(comparison.at("changes"), IsEmpty());
  EXPECT_EQ(comparison.at("cautions").at(0).at("code"), "one-launch");
  EXPECT_THAT(comparison.at("cases"), SizeIs(56));
  for (const Json& each : comparison.at("cases")) {
    const std::string name = each.at("case");
    if (name.find("MiB") == std::string::npos && name.find("GiB") == std::string::npos) continue;
    EXPECT_EQ(each.at("verdict"), "inconclusive") << name;
    EXPECT_NEAR(each.at("difference").at("speed_up"), 1.0, 0.021) << name;
  }
}

TEST(CompareProgram, CautionsWhereBothSidesAreTheSameRun) {
  const ScratchFolder folder;
  std::filesystem::copy_file(kFirst + "/record.json", folder / "copy.json");
  const Outcome outcome =
      with_status(0, run_linkgain(folder, {"compare", kFirst, "copy.json", "--json"}));
  const Json comparison = Json::parse(outcome.output).at("comparisons").at(0);
  EXPECT_EQ(comparison.at("cautions").at(0).at("code"), "same-run");
}

/// Claims no difference between single launches of small operations, which wander far.
TEST(CompareProgram, AccusesNoRunOfTheSameMachine) {
  const Json document = json_of({kFirst, kSecond});
  for (const Json& each : document.at("comparisons").at(0).at("cases")) {
    EXPECT_EQ(each.at("verdict"), "inconclusive") << each;
  }
}

/// Returns a run's record as if its first five rounds, the five after and so on had been launches,
/// four in all: one launch shows no difference.
Json in_launches(const std::filesystem::path& record) {
  Json document = Json::parse(read_text(record));
  Json& samples = document.at("samples");
  for (std::size_t row = 0; row < samples.at("round").size(); ++row) {
    samples.at("launch").at(row) = std::min(samples.at("round").at(row).get<int>() / 5, 3);
  }
  document.at("settings").at("launches") = 4;
  return document;
}

TEST(CompareProgram, SaysWhatChangedAndWhatItIsWorth) {
  const ScratchFolder folder;
  // A run of which P2P was off, given as the run before: its p2p variant has the host variant's
  // times.
  write(folder / "after.json", in_launches(kFirst + "/record.json").dump());
  Json record = in_launches(kSecond);
  for (Json& each : record.at("cases")) {
    each.at("variants").at(0).at("path") = "host-memory";
    each.at("variants").at(0).erase("evidence");
    each.at("variants").at(0).at("time_s") = each.at("variants").at(1).at("time_s");
    each.at("ratios").clear();
  }
  for (Json& column : record.at("samples").at("seconds_by_rank")) {
    Json& variants = record.at("samples").at("variant");
    for (std::size_t row = 0; row + 1 < column.size(); row += 2) {
      const std::size_t host = variants.at(row) == 1 ? row : row + 1;
      column.at(host == row ? row + 1 : row) = column.at(host);
    }
  }
  record.at("settings").at("environment_in_force").at(0)["NCCL_P2P_DISABLE"] = "1";
  record.at("machine").at("links").at(0)["nvlink"] = false;
  record.at("machine").at("links").at(0)["ancestor"] = "PHB";
  write(folder / "before.json", record.dump());
  const Outcome outcome = with_status(
      0, run_linkgain(folder, {"compare", "before.json", "after.json", "--format", "md"}));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("- GPU0–GPU1: PHB → NV18\n"),
                                    HasSubstr("- NCCL_P2P_DISABLE with p2p: 1 → not set\n"),
                                    HasSubstr("| Before (N) |"), HasSubstr("| After (Y)  |"),
                                    HasSubstr("11.9x as fast ("), HasSubstr("other-variables")));
}

TEST(CompareProgram, TakesWhatNcclTestsWrote) {
  // One of its operations has wrong data.
  const Outcome same = with_status(4, compare({kNcclTests, kNcclTests}));
  EXPECT_THAT(same.output, AllOf(HasSubstr("all_reduce 1 MiB"), HasSubstr("not comparable")));
  const Outcome mixed = with_status(4, compare({kNcclTests, kFirst, "--only", "all_reduce"}));
  EXPECT_THAT(mixed.output,
              AllOf(HasSubstr("measured with: nccl-tests → linkgain"), HasSubstr("15.50 us"),
                    HasSubstr("all_reduce 1 MiB "), HasSubstr("other-settings")));
}

TEST(CompareProgram, FitsATerminal) {
  const std::string other = RESULTS_FOLDER "/2xH200-copies/record.json";
  const std::string third = RESULTS_FOLDER "/2xH200-default/record.json";
  for (const auto& runs : {std::vector{kFirst, kSecond}, {third, other}}) {
    const std::string text = compare(runs).output;
    EXPECT_LE(widest_line(text), kTerminalColumns) << text;
  }
  EXPECT_THAT(compare({third, other}).output, testing::ContainsRegex("[0-9]+ cases +p2p .*missing"))
      << "what only one of them has is no row each";
}

/// Gives who divides the columns the speed-up beside them.
TEST(CompareProgram, ShowsTheTimesThatTheSpeedUpIsMadeOf) {
  const std::string nodes = RESULTS_FOLDER "/2xH200-node-";
  const Json document = json_of({nodes + "1/record.json", nodes + "2/record.json"});
  int compared = 0;
  for (const Json& each : document.at("comparisons").at(0).at("cases")) {
    if (each.at("difference").is_null()) continue;
    ++compared;
    const double ratio =
        each.at("before").at("time_s").get<double>() / each.at("after").at("time_s").get<double>();
    EXPECT_NEAR(each.at("difference").at("speed_up").get<double>() / ratio, 1.0, 1e-12) << each;
    EXPECT_GE(each.at("before").at("launch_medians_s").size(), 8U);
  }
  EXPECT_GT(compared, 10);
}

void expect_refusal(const Words& arguments, const std::string& text) {
  const Outcome outcome = with_status(2, compare(arguments));
  EXPECT_THAT(outcome.output, IsEmpty());
  EXPECT_THAT(outcome.error, AllOf(StartsWith("linkgain: "), HasSubstr(text)));
  EXPECT_THAT(lines_of(outcome.error), SizeIs(2)) << outcome.error;
}

TEST(CompareProgram, RefusesWhatItCannotRead) {
  const ScratchFolder folder;
  const std::filesystem::path newer = folder / "newer.json";
  write(newer, with_replaced(kSecond, "linkgain.record/1", "linkgain.record/3"));
  expect_refusal({kFirst, newer}, "newer.json: ");
  const std::filesystem::path cut = folder / "cut.json";
  write(cut, read_text(kSecond).substr(0, 5000));
  expect_refusal({kFirst, cut}, "cut.json: ");
  expect_refusal({kFirst, "/nowhere.json"}, "/nowhere.json");
  const std::filesystem::path foreign = folder / "sort.json";
  write(foreign, R"({"context": {}, "benchmarks": [{"name": "BM_sort/64", "real_time": 5.0}]})");
  expect_refusal({kFirst, foreign}, "sort.json: ");
  expect_refusal({kFirst}, "compare takes two runs, 1 given");
  expect_refusal({kFirst, kSecond, kFirst}, "compare takes two runs, 3 given");
  expect_refusal({kFirst + "," + kFirst, kSecond}, "cannot read ");
}

TEST(CompareProgram, RefusesToCompareAnOperationThatNoRunHas) {
  for (const char* format : {"table", "json"}) {
    expect_refusal({kFirst, kSecond, "--only", "broadcast", "--format", format},
                   "--only broadcast: ");
  }
  expect_refusal({kFirst, kSecond, "--only", "broadcast,gather"}, "--only broadcast, gather: ");
  EXPECT_EQ(compare({kFirst, kSecond, "--only", "broadcast,all_reduce"}).status, 0);
}

TEST(CompareProgram, SaysThatThereIsNothingToCompare) {
  const ScratchFolder folder;
  const std::filesystem::path empty = folder / "empty.json";
  std::string text = read_text(kNcclTests);
  const std::size_t rows = text.find('[', text.find("\"results\""));
  const std::size_t end = text.find("],\n \"out_of_bounds\"", rows);
  write(empty, text.replace(rows, end - rows + 1, "[]"));
  const Outcome outcome = with_status(7, compare({empty, empty}));
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("all_reduce")));
}

TEST(CompareProgram, OfRunsWithoutACommonCaseIsInconclusive) {
  with_status(7, compare({RESULTS_FOLDER "/2xH200-latency", RESULTS_FOLDER "/2xH200-training"}));
}

}  // namespace
}  // namespace linkgain::test
