#include "linkgain/fleet/fleet_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/record/record_json.hpp"
#include "linkgain/record/record_members.hpp"
#include "linkgain/record/warning.hpp"
#include "support/full_record.hpp"
#include "support/golden.hpp"
#include "support/impossible_samples.hpp"
#include "support/program.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

FleetRecord read_as_file(const std::string& text, FleetNames& names) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "record.json";
  std::ofstream(path, std::ios::binary) << text;
  return read_fleet_record(path, names);
}

std::string problem_of(const std::string& text) {
  FleetNames names;
  return read_as_file(text, names).problem;
}

/// Leaves out the digest for tests that change it.
nlohmann::ordered_json full_document() {
  nlohmann::ordered_json document = nlohmann::ordered_json::parse(to_json(full_record()));
  document.erase("digest");
  return document;
}

FleetRecord fleet_record_of_samples(Record record, FleetNames& names) {
  judge(record);
  return fleet_record_of(record, names);
}

void expect_same(const FleetRecord& read, const FleetRecord& expected) {
  EXPECT_EQ(read.started, expected.started);
  EXPECT_EQ(read.status, expected.status);
  EXPECT_EQ(read.wrong_path, expected.wrong_path);
  EXPECT_EQ(read.launches, expected.launches);
  EXPECT_EQ(read.program, expected.program);
  EXPECT_EQ(read.variables, expected.variables);
  EXPECT_EQ(read.neighbours, expected.neighbours);
  EXPECT_EQ(read.disturbing, expected.disturbing);
  EXPECT_EQ(read.values, expected.values);
  EXPECT_EQ(read.throttled, expected.throttled);
  EXPECT_TRUE(same(read.machine, expected.machine));
}

TEST(FleetRecord, IsWhatTheSamplesOfTheRecordSay) {
  FleetNames names;
  for (const char* folder : {"2xH200-all_reduce-1", "2xH200-default", "2xH200-buffers",
                             "2xH200-kernels", "4xH200-default"}) {
    const std::filesystem::path path =
        std::filesystem::path(RESULTS_FOLDER) / folder / "record.json";
    const FleetRecord parsed = fleet_record_of_samples(parse_record(content_of(path), "r"), names);
    ASSERT_FALSE(parsed.values.empty());
    const FleetRecord read = read_fleet_record(path, names);
    EXPECT_EQ(read.problem, "");
    EXPECT_EQ(read.path, path);
    expect_same(read, parsed);
  }
}

/// Covers records of the newest version, whose samples are read as columns.
TEST(FleetRecord, IsTheSameFromColumnsAlone) {
  constexpr const char* kLittleStolen =
      "while measuring a hypervisor took 0.03 processors' time for others";
  FleetNames names;
  std::vector<Record> records{full_record()};
  for (const char* folder : {"2xH200-default", "2xH200-training-strategies", "4xH200-kernels"}) {
    records.push_back(parse_record(
        content_of(std::filesystem::path(RESULTS_FOLDER) / folder / "record.json"), "r"));
  }
  records.push_back(records[1]);
  for (CaseResult& result : records.back().cases) {
    result.variants[1].evidence = result.variants[0].evidence;  // NVLink carried host's, too
  }
  for (Record& record : records) {
    record.cases.front().samples.front().health.back().clock_event_reasons = 0x84;
    record.exit_code = 5;
    record.warnings = {warning_of(WarningCode::wrong_path, "claimed"),
                       warning_of(WarningCode::not_verified, "claimed"),
                       warning_of(WarningCode::links_disturbed, "claimed"),
                       warning_of(WarningCode::busy_processors, "all were busy"),
                       warning_of(WarningCode::host_load, kLittleStolen)};
    const std::string text = to_json(record);
    ASSERT_TRUE(read_as_written(text));
    const FleetRecord read = read_as_file(text, names);
    expect_same(read, fleet_record_of_samples(parse_record(text, "r"), names));
    EXPECT_EQ(read.wrong_path, &record == &records.back());
    EXPECT_THAT(read.cause, testing::Not(HasSubstr("claimed")));
    EXPECT_EQ(read.disturbing.front().text, "all were busy");
    EXPECT_NE(read.disturbing.back().text, kLittleStolen);
    nlohmann::ordered_json document = nlohmann::ordered_json::parse(text);
    document["cases"][0]["variants"][0]["time_s"] = 1.0;
    EXPECT_FALSE(read_as_written(document.dump(1))) << "not as it was written";
  }
}

/// Covers a run of one variant that was interrupted in its first launch.
TEST(FleetRecord, CountsTheLaunchesOfARunWithoutRatios) {
  FleetNames names;
  Record record = parse_record(
      content_of(std::filesystem::path(RESULTS_FOLDER) / "2xH200-default" / "record.json"), "r");
  ASSERT_GT(record.settings.launches, 1);
  record.settings.variants.resize(1);
  record.settings.environment_in_force.resize(1);
  for (CaseResult& result : record.cases) {
    result.variants.resize(1);
    result.ratios.clear();
    std::erase_if(result.samples,
                  [](const Sample& each) { return each.variant > 0 || each.launch > 0; });
  }
  for (const RunStatus status : {RunStatus::complete, RunStatus::interrupted}) {
    record.status = status;
    const FleetRecord read = read_as_file(to_json(record), names);
    EXPECT_EQ(read.problem, "");
    for (const FleetValue& value : read.values) {
      if (value.seconds <= 0.0F) continue;
      EXPECT_EQ(value.launches, 1) << names.all()[value.name].case_name;
    }
  }
}

/// Leaves what linkgain cannot have written to parse_record(), whatever its digest.
TEST(FleetRecord, ReadsNoColumnsThatDoNotFit) {
  const auto is_read = [](const std::string& column, const std::string& value) {
    const std::string text = to_json(full_record());
    const std::size_t begin = text.find("\n \"" + column + "\": ");
    const std::size_t end = text.find('\n', begin + 1);
    std::string changed =
        text.substr(0, begin) + "\n \"" + column + "\": " + value + "," + text.substr(end);
    changed.resize(changed.rfind(",\n\"digest\""));
    Digest digest;
    return read_as_written(with_digest(changed + "\n}\n", ",\n", digest)).has_value();
  };
  const auto samples = nlohmann::ordered_json::parse(to_json(full_record()))["samples"];
  EXPECT_TRUE(is_read("round", samples["round"].dump()));
  for (const auto& [what, column, value] : impossible_columns(samples)) {
    EXPECT_FALSE(is_read(column, value.dump())) << what;
  }
  for (const auto& [column, value] :
       std::vector<std::pair<std::string, std::string>>{{"case", "[0]"},
                                                        {"launch", "[]"},
                                                        {"launch", "\"a\""},
                                                        {"variant", "7"},
                                                        {"seconds_by_rank", "[[1.0]]"},
                                                        {"seconds_by_rank", "[[-1.0"},
                                                        {"launch", "[0,1"}}) {
    EXPECT_FALSE(is_read(column, value)) << column << " " << value;
  }
}

/// Believes samples that were throttled, not a summary that denies it.
TEST(FleetRecord, WithoutDigestsSaysWhatItsSamplesDo) {
  Record record = full_record();
  for (CaseResult& result : record.cases) {
    for (Sample& sample : result.samples) sample.health[0].clock_event_reasons = 0x40;
  }
  nlohmann::ordered_json document = nlohmann::ordered_json::parse(to_json(record));
  document.erase("digest");
  document["cases"][0]["variants"][0]["health"]["unhealthy_samples"] = 0;
  FleetNames names;
  const FleetRecord read = read_as_file(document.dump(), names);
  EXPECT_EQ(read.problem, "");
  EXPECT_EQ(read.values.at(0).samples, 16);
  EXPECT_EQ(read.values.at(0).unhealthy_samples, 16);
  EXPECT_EQ(read.throttled, (std::map<int, std::uint64_t>{{0, 0x40}}));
  EXPECT_EQ(read.values.at(0).disturbed_samples, 2);
}

TEST(FleetRecord, OfWhatIsNotKnownIsTheSame) {
  Record record = full_record();
  record.neighbours.reset();
  record.machine.software.driver.reset();
  record.machine.software.nccl_library.reset();
  for (RankInfo& rank : record.machine.ranks) rank.gpu.reset();
  for (PairLink& link : record.machine.links) {
    link = {.from = link.from, .to = link.to, .p2p = {}, .nvlink = {}, .ancestor = {}};
  }
  for (CaseResult& result : record.cases) {
    for (VariantResult& variant : result.variants) variant.verification.reset();
  }
  FleetNames names;
  const FleetRecord expected = fleet_record_of_samples(record, names);
  EXPECT_FALSE(expected.neighbours);
  expect_same(read_as_file(to_json(record), names), expected);
  record.neighbours.emplace().seen.resize(3);
  EXPECT_EQ(read_as_file(to_json(record), names).neighbours, 3);
}

TEST(FleetRecord, HasTheProgramThatRan) {
  Record record = full_record();
  record.settings.program.emplace().command = {"train", "two parts"};
  FleetNames names;
  EXPECT_EQ(fleet_record_of(record, names).program, "train 'two parts'");
  record.settings.program->server = "serve";
  EXPECT_THAT(fleet_record_of(record, names).program, testing::StartsWith("serve & train"));
}

TEST(FleetRecord, OfAJournalSaysThatNoOtherIsThere) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "journal.jsonl";
  JournalWriter(path).write_head(full_record());
  FleetNames names;
  const FleetRecord read = read_fleet_record(path, names);
  EXPECT_EQ(read.problem, "");
  EXPECT_EQ(read.status, RunStatus::unfinished);
  EXPECT_THAT(read.cause, HasSubstr("journal"));
}

/// Covers `jq -S`, which sorts every object's members.
TEST(FleetRecord, IsTheSameInAnyOrderOfMembers) {
  const nlohmann::ordered_json document = full_document();
  const nlohmann::json sorted = nlohmann::json::parse(document.dump());
  std::string turned = "{";
  for (auto member = sorted.rbegin(); member != sorted.rend(); ++member) {
    turned += (turned.size() > 1 ? "," : "") + nlohmann::json(member.key()).dump() + ":" +
              member.value().dump();
  }
  turned += "}";
  // Without indentation the samples of a case's health look like those of the record.
  const std::string flat = document.dump(0);
  ASSERT_LT(flat.find("\n\"samples\":"), flat.find("\n\"warnings\":"));
  FleetNames names;
  const FleetRecord parsed = fleet_record_of_samples(full_record(), names);
  for (const std::string& other : {sorted.dump(), sorted.dump(2), sorted.dump(0), turned, flat}) {
    const FleetRecord read = read_as_file(other, names);
    EXPECT_EQ(read.problem, "");
    expect_same(read, parsed);
  }
}

TEST(FleetRecord, RefusesWhatIsNoRecord) {
  Situations refusals;
  for (const std::string text : {"{}", "{\"a\": 1}", "{\"schema\": \"linkgain.record/3\"}",
                                 "{\"schema\": \"linkgain.record/1\"}"}) {
    refusals.add("'" + text + "'", problem_of(text));
  }
  nlohmann::ordered_json document = full_document();
  document["cases"][0]["variants"][0]["path"] = "string";
  refusals.add("a path that is not known", problem_of(document.dump()));
  document = full_document();
  document["cases"][0].erase("case");
  refusals.add("a case without a name", problem_of(document.dump()));
  document = full_document();
  document["samples"]["seconds_by_rank"][0][0] = -1;
  refusals.add("a time that cannot be", problem_of(document.dump()));
  std::string twice = full_document().dump();
  twice.insert(1, "\"exit_code\":0,");
  refusals.add("a member twice", problem_of(twice));
  expect_golden(refusals.text(), "refused_records.txt");
}

TEST(FleetRecord, HasNothingBehindItsEnd) {
  using namespace std::string_literals;
  const std::string text = to_json(full_record());
  EXPECT_EQ(problem_of(text), "");
  for (const std::string& tail : {"\0junk"s, "\0{}"s, "\0"s, "{}"s, " {}"s, "\n\0\n"s}) {
    EXPECT_NE(problem_of(text + tail), "") << tail;
  }
}

/// Refuses a case of another version: that file is then unreadable, not the whole fleet.
TEST(FleetRecord, KnowsEveryCaseThatItHas) {
  FleetNames names;
  EXPECT_EQ(names.number_of("all_reduce/float32/sum/1MiB/np2", "p2p"), 0U);
  EXPECT_THROW(names.number_of("all_shuffle/1MiB/np2", "p2p"), UsageError);
  EXPECT_THAT(names.all(), SizeIs(1));
}

TEST(FleetRecord, FindsEveryByteThatChanged) {
  const std::string text = to_json(full_record());
  std::mt19937 random(3);
  for (int flip = 0; flip < 250; ++flip) {
    std::string changed = text;
    const std::size_t place = random() % (text.size() - 1);
    changed[place] = static_cast<char>(changed[place] ^ (1 << (random() % 8)));
    EXPECT_NE(problem_of(changed), "") << "byte " << place;
  }
}

TEST(FleetRecord, CutAnywhereIsRefused) {
  const std::string text = to_json(full_record());
  constexpr std::size_t kStep = 17;
  for (std::size_t end = 0; end + 2 < text.size(); end += kStep) {
    EXPECT_NE(problem_of(text.substr(0, end)), "") << end;
  }
}

TEST(FleetRecord, SaysWhatIsWrongWithAFile) {
  const std::string folder = ::testing::TempDir();
  FleetNames names;
  Situations problems;
  problems.add("not there", read_fleet_record(folder + "not-there.json", names).problem);
  const auto add = [&](const std::string& situation, const std::string& content) {
    problems.add(situation, problem_of(content));
  };
  const std::string text = to_json(full_record());
  add("a record without its last bytes", text.substr(0, text.size() - 100));
  add("empty", "");
  add("blank", " \n");
  add("XML", "<?xml version=\"1.0\"?>\n<testsuite/>\n");
  add("zeros", std::string(100, '\0'));
  add("a bracket", "{");
  add("an array", "[]");
  add("a baseline", "{\"cases\": [1], \"schema\": \"linkgain.baseline/1\"}");
  add("a newer record", "{\"cases\": [], \"schema\": \"linkgain.record/3\"}");
  expect_golden(problems.text(), "problems_of_files.txt");
}

TEST(FleetRecord, TellsOtherDocumentsFromBrokenRecords) {
  const std::string path = ::testing::TempDir() + "other.json";
  FleetNames names;
  for (const char* content : {"[]", "[{\"file\": \"a.c\"}]\n", "{\"a\": {\"schema\": 1}}",
                              "{\"cases\": [1], \"schema\": \"linkgain.baseline/1\"}"}) {
    std::ofstream(path, std::ios::binary) << content;
    const FleetRecord read = read_fleet_record(path, names);
    EXPECT_TRUE(read.is_other_document) << content;
    EXPECT_NE(read.problem, "");
  }
  std::ofstream(path, std::ios::binary) << R"({"cases": [], "schema": "linkgain.record/3"})";
  EXPECT_FALSE(read_fleet_record(path, names).is_other_document);
  EXPECT_THAT(read_fleet_record(path, names).problem, HasSubstr("linkgain.record/3"));
}

}  // namespace
}  // namespace linkgain::test
