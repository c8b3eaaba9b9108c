// clang-format off: valijson reads whole numbers, too, so that this header comes before it
#include "linkgain/base/json.hpp"
// clang-format on

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "linkgain/record/record_members.hpp"
#include "record_documents.hpp"
#include "support/full_record.hpp"
#include "support/golden.hpp"
#include "support/impossible_samples.hpp"
#include "support/schema_of_members.hpp"
#include "support/scratch_folder.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(RecordJson, RoundTripsEveryMember) {
  const Record record = as_read(full_record());
  Record back = parse_record(to_json(record), "a.json");
  EXPECT_EQ(back.started, record.started);
  EXPECT_EQ(back.wall_seconds, record.wall_seconds);
  EXPECT_EQ(back.evidence_cost, record.evidence_cost);
  EXPECT_EQ(back.time_spent, record.time_spent);
  EXPECT_EQ(back.status, record.status);
  EXPECT_EQ(back.exit_code, record.exit_code);
  EXPECT_TRUE(same(back.machine, record.machine));
  EXPECT_TRUE(same(back.settings, record.settings));
  EXPECT_TRUE(same(back.cases, record.cases));
  EXPECT_TRUE(same(back.warnings, record.warnings));
  EXPECT_TRUE(same(back, record));
  EXPECT_FALSE(back.answer) << "every reader derives it";
  back.answer = record.answer;
  EXPECT_EQ(to_json(back), to_json(record));
}

/// Keeps a reader of the JSON from taking for complete what lists call otherwise.
TEST(RecordJson, SaysHowTheRunEndedAsListsDo) {
  Record record = full_record();
  record.status = RunStatus::complete;
  record.warnings = {{"budget-used-up", "text", ""}};
  Record failed = full_record();
  failed.status = RunStatus::incomplete;
  failed.runs = {{.variant = "p2p", .failure = "exit status 1"}};
  for (const Record& each : {record, failed}) {
    EXPECT_NE(ending_of(each), name_of(each.status));
    EXPECT_EQ(nlohmann::json::parse(to_json_without_samples(each)).at("status"), ending_of(each));
    EXPECT_EQ(nlohmann::json::parse(to_json(each)).at("status"), ending_of(each));
    EXPECT_EQ(parse_record(to_json(each), "").status, each.status);
  }
}

TEST(RecordJson, TellsDifferencesApart) {
  const Record record = full_record();
  Record other = record;
  other.cases[1].variants[1].verification->largest_error = 7.0;
  EXPECT_FALSE(same(record, other));
  other = record;
  other.cases[0].samples[3].health[1].power_w = 1.0;
  EXPECT_FALSE(same(record, other));
  EXPECT_TRUE(std::isinf(
      parse_record(to_json(record), "").cases[1].variants[1].verification->largest_error));
}

TEST(RecordJson, RoundTripsWhatIsNotMeasured) {
  Record record;
  record.status = RunStatus::complete;
  record.settings.backend = BackendKind::mpi;
  record.settings.schedule = Schedule::paired;
  record.settings.variants = {{"tcp", {}}};
  EXPECT_TRUE(same(parse_record(to_json(record), ""), record));
  const Json document = Json::parse(to_json(record));
  EXPECT_TRUE(document["settings"]["budget_s"].is_null());
  EXPECT_TRUE(document["machine"]["software"]["driver"].is_null());
}

TEST(RecordJson, AcceptsNullAndAbsenceAlikeInAGpu) {
  Json document = full_document();
  for (const char* key : {"nvlink_version", "most_sm_clock_mhz", "application_clock_mhz",
                          "most_custom_boost_clock_mhz", "power_limit_w"}) {
    EXPECT_EQ(document["machine"]["ranks"][0]["gpu"].erase(key), 1U) << key;
  }
  const GpuInfo gpu = *parse_record(document.dump(), "").machine.ranks[0].gpu;
  EXPECT_FALSE(gpu.nvlink_version || gpu.most_sm_clock_mhz || gpu.application_clock_mhz ||
               gpu.most_custom_boost_clock_mhz || gpu.power_limit_w);
  EXPECT_FALSE(parse_record(full_document().dump(), "").machine.ranks[1].gpu->nvlink_version);
}

TEST(RecordJson, WritesTheShareOfNvlinkForOtherReaders) {
  const Json variant = full_document()["cases"][0]["variants"][0];
  EXPECT_NEAR(variant["evidence"]["nvlink_share"].get<double>(), 1.00402, 1e-6);
  EXPECT_TRUE(full_document()["cases"][0]["variants"][1]["evidence"]["nvlink_share"].is_null());
  EXPECT_TRUE(full_document()["cases"][0]["variants"][2]["evidence"].is_null());
}

TEST(RecordJson, NamesThePairsAsTheMatrixDoes) {
  const Json links = full_document()["machine"]["links"];
  EXPECT_EQ(links[0]["label"], "NV4");
  EXPECT_EQ(links[1]["label"], "NV?");
  EXPECT_EQ(links[2]["label"], "?");
}

/// Larger ones hold more cases and samples, and nothing of another kind; their reports are tested.
constexpr std::uintmax_t kLargest = 256 << 10;

TEST(RecordJson, ReadsTheRecordsInResults) {
  int read = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(RESULTS_FOLDER)) {
    if (entry.path().filename() != "record.json" || entry.file_size() > kLargest) continue;
    const Record record = read_record(entry.path());
    EXPECT_GT(count_samples(record), 0) << entry.path();
    EXPECT_TRUE(same(parse_record(without_digest(to_json(record)).dump(), ""), record))
        << entry.path();
    ++read;
  }
  EXPECT_GE(read, 12);
}

TEST(RecordJson, ReplacesBytesThatAreNoText) {
  Record record = full_record();
  record.settings.argv = {"linkgain", "\xff\xfe"};
  const Record back = parse_record(to_json(record), "");
  EXPECT_EQ(back.settings.argv.at(1), "\xEF\xBF\xBD\xEF\xBF\xBD") << "U+FFFD twice";
}

TEST(RecordJson, HasSamplesAndDigestLast) {
  const std::string text = to_json(full_record());
  const Json document = Json::parse(text);
  std::vector<std::string> keys;
  for (const auto& [key, value] : document.items()) keys.push_back(key);
  EXPECT_EQ(keys.at(keys.size() - 2), "samples");
  EXPECT_EQ(keys.back(), "digest");
  EXPECT_EQ(document.begin().key(), "schema");
  // Up to there a reader of the results has seen all that is in the form without samples.
  const std::string results = to_json_without_samples(full_record());
  EXPECT_TRUE(text.starts_with(results.substr(0, results.rfind("\n}")) + ",\n\"samples\": "));
  EXPECT_FALSE(Json::parse(results).contains("samples"));
}

TEST(RecordJson, KeepsSamplesInColumnsOnALineEach) {
  const std::string text = to_json(full_record());
  EXPECT_THAT(text, HasSubstr("\n \"round\": [0,0,0,0,1,1,1,1,"));
  EXPECT_THAT(text, HasSubstr("\n \"temperature_c_by_rank\": [[40,40,40,40,41,"));
}

/// Returns what a schema says of a part, whose definition it may only name.
const Json& definition_of(const Json& schema, const Json& whole) {
  if (!schema.contains("$ref")) return schema;
  return whole.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1)));
}

/// Removes every member that the schema requires in turn, wherever it stands.
void expect_each_required(Json& document, Json& part, const Json& named, const std::string& place) {
  static const Json schema = Json::parse(std::ifstream(SCHEMA_FILE));
  const Json& own = definition_of(named, schema);
  if (part.is_array()) {
    if (!part.empty()) expect_each_required(document, part[0], own["items"], place + "[0]");
    return;
  }
  if (!part.is_object() || !own.contains("properties")) return;
  for (const std::string& key : own.value("required", std::vector<std::string>())) {
    const bool is_derived = own["properties"].at(key).value("readOnly", false);
    if (is_derived || key == "digest") continue;
    const Json value = part.at(key);
    part.erase(key);
    EXPECT_THAT(refusal(document),
                AllOf(StartsWith("a.json: "), HasSubstr(place), HasSubstr("'" + key + "'")));
    part[key] = value;
  }
  for (auto& [key, value] : part.items()) {
    const Json& named_member = own["properties"].at(key);
    if (named_member.value("readOnly", false)) continue;
    expect_each_required(document, value, named_member, place + "[" + key + "]");
  }
}

TEST(RecordSchema, RequiresEveryMemberAndNamesThePlace) {
  Json document = full_document();
  expect_each_required(document, document, Json::parse(std::ifstream(SCHEMA_FILE)), "");
  EXPECT_EQ(refusal(document), "accepted") << "nothing was left out in the end";
}

TEST(RecordSchema, RefusesAnotherTypeOrRangeAndNamesThePlace) {
  EXPECT_THAT(refusal(with("/wall_s", "14")), HasSubstr("[wall_s]"));
  EXPECT_THAT(refusal(with("/wall_s", -1)), HasSubstr("[wall_s]"));
  EXPECT_THAT(refusal(with("/status", "done")), HasSubstr("[status]"));
  EXPECT_THAT(refusal(with("/machine/processors", 1.5)), HasSubstr("[machine][processors]"));
  EXPECT_THAT(refusal(with("/machine/ranks/1/gpu", 7)), HasSubstr("[machine][ranks][1][gpu]"));
  EXPECT_THAT(refusal(with("/machine/links/0/p2p", "yes")), HasSubstr("[links][0][p2p]"));
  EXPECT_THAT(refusal(with("/machine/links/0/ancestor", "NEAR")), HasSubstr("[0][ancestor]"));
  EXPECT_THAT(refusal(with("/settings/backend", "gloo")), HasSubstr("[settings][backend]"));
  EXPECT_THAT(refusal(with("/settings/variants", Json::array())), HasSubstr("[variants]"));
  EXPECT_THAT(refusal(with("/settings/environment_in_force/0/NCCL_ALGO", 1)),
              HasSubstr("[environment_in_force][0]"));
  EXPECT_THAT(refusal(with("/cases/0/variants/0/path", "air")), HasSubstr("[variants][0][path]"));
  EXPECT_THAT(refusal(with("/warnings/0/code", "Not kebab")), HasSubstr("[warnings][0][code]"));
  EXPECT_THAT(refusal(with("/cases/0/variants/0/evidence/judged", "yes")),
              HasSubstr("[variants][0][evidence][judged]"));
  EXPECT_THAT(refusal(with("/cases/0/variants/0/evidence/nvlink_sent_bytes", -1)),
              HasSubstr("[evidence][nvlink_sent_bytes]"));
  EXPECT_THAT(refusal(with("/machine/ranks/0/host_copy/to_gpu_gb_per_s", "fast")),
              HasSubstr("[host_copy][to_gpu_gb_per_s]"));
  EXPECT_THAT(refusal(with("/settings/require_healthy", 1)), HasSubstr("[require_healthy]"));
  EXPECT_THAT(refusal(with("/settings/label", 1)), HasSubstr("[label]"));
  EXPECT_THAT(refusal(with("/settings/label", "")), HasSubstr("[label]"));
  EXPECT_THAT(refusal(with("/samples/case", 0)), HasSubstr("[samples][case]"));
  EXPECT_THAT(refusal(with("/samples/seconds_by_rank/0", 0)), HasSubstr("[seconds_by_rank][0]"));
}

/// Refuses it with the words of the JSON library.
TEST(RecordSchema, RefusesWhatIsNoJsonOrOfAnotherType) {
  for (const std::string& text :
       {std::string(), std::string("{\"schema\":"), with("/schema", 1).dump(),
        with("/samples/round/0", "first").dump()}) {
    EXPECT_THAT(refusal(text), StartsWith("a.json: ")) << text.substr(0, 40);
  }
}

TEST(RecordSchema, RefusesAnotherVersionAndWhatTheSchemaCannotTell) {
  Situations answers;
  const auto ask = [&](const std::string& what, const Json& document) {
    answers.refuse(what, [&] { parse_record(document.dump(), "a.json"); });
  };
  ask("a list", Json::array());
  ask("nothing", Json::object());
  for (const char* schema : {"linkgain.record/3", "other/1"}) {
    ask(std::string("schema ") + schema, with("/schema", schema));
  }
  ask("an unknown operation", with("/cases/0/case", "all_reduc/float32/sum/8B/np2"));
  Json shorter = full_document();
  shorter["samples"]["round"].erase(0);
  ask("a round less than samples", shorter);
  Json fewer = full_document();
  fewer["samples"]["power_w_by_rank"][1].erase(0);
  ask("a power less than samples", fewer);
  ask("a sample of case 7", with("/samples/case/1", 7));
  ask("a sample of variant 3", with("/samples/variant/1", 3));
  for (const auto& [what, column, value] : impossible_columns(full_document()["samples"])) {
    Json changed = full_document();
    changed["samples"][column] = value;
    ask(what, changed);
  }
  answers.refuse("no file", [] { read_record("/no/such/record.json"); });
  answers.expect_golden("records_refused.txt");
}

TEST(ReadRecord, ReadsAFile) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder / "record.json";
  std::ofstream(path) << to_json(full_record());
  EXPECT_TRUE(same(read_record(path), as_read(full_record())));
}

TEST(RecordDigest, FindsEveryByteThatChanged) {
  const std::string text = to_json(full_record());
  std::mt19937 random(2);
  for (int flip = 0; flip < 250; ++flip) {
    std::string changed = text;
    // What stands behind the last bracket is no part of the document.
    const std::size_t place = random() % (text.size() - 1);
    changed[place] = static_cast<char>(changed[place] ^ (1 << (random() % 8)));
    EXPECT_NE(refusal(changed), "accepted") << "byte " << place;
  }
}

TEST(RecordDigest, MustBeThatOfTheTextAsItStands) {
  Json document = Json::parse(to_json(full_record()));
  EXPECT_EQ(parse_record(to_json(full_record()), "").digest, document["digest"].get<std::string>());
  EXPECT_EQ(parse_record(full_document().dump(), "").digest, "");
  EXPECT_THAT(refusal(document), HasSubstr("its digest"));
  document.erase("digest");
  EXPECT_EQ(refusal(document), "accepted");
}

TEST(RecordSchema, RefusesNumbersThatCannotBe) {
  Situations answers;
  const auto ask = [&](const char* place, const Json& value) {
    const Json changed = with(place, value);
    answers.refuse(std::string(place) + " " + value.dump(),
                   [&] { parse_record(changed.dump(), "a.json"); });
  };
  ask("/samples/launch/0", 99);
  ask("/samples/launch/0", 1.5);
  ask("/samples/variant/0", -1);
  ask("/samples/seconds_by_rank/0/0", -1e-3);
  ask("/samples/operations/0", 0);
  ask("/machine/processors", 1e300);
  ask("/cases/0/variants/0/verification/wrong", -1);
  ask("/cases/0/variants/0/verification/wrong", std::int64_t{1} << 50);
  ask("/samples/round/0", 2147483647);
  ask("/samples/operations/0", std::int64_t{1} << 62);
  ask("/settings/launches", 2147483647);
  ask("/neighbours/looks", 2147483647);
  ask("/neighbours/idle_windows", 2147483647);
  ask("/samples/seconds_by_rank/0/0", 1e300);
  ask("/machine/ranks/0/gpu/nvlink_rate_gb_per_s", 1e-320);
  ask("/machine/ranks/0/gpu/nvlink_total_gb_per_s", 1e7);
  ask("/machine/ranks/0/gpu/nvlink_links_active", 2147483647);
  ask("/machine/ranks/0/host_copy/to_gpu_gb_per_s", 1e-320);
  ask("/machine/ranks/0/host_copy/alone/from_gpu_gb_per_s", 0);
  ask("/machine/links/0/nvlinks", 2147483647);
  ask("/machine/links/0/to", 3);
  ask("/machine/links/0/to", 0);
  ask("/link_errors/counters/0/growth", -1);
  ask("/link_errors/counters/0/growth", std::numeric_limits<std::int64_t>::max());
  ask("/launch_begins_s/1", -1);
  answers.expect_golden("impossible_numbers.txt");
}

/// Ignores what only other programs' tools read: linkgain derives it from the samples.
TEST(RecordSchema, LeavesDerivedMembersUnread) {
  const Record record = as_read(full_record());
  for (const auto& [place, value] : std::vector<std::pair<const char*, Json>>{
           {"/cases/0/variants/0/time_s", 1000.0},
           {"/cases/0/variants/0/time_s", "-1"},
           {"/cases/0/variants/0/busbw_gb_per_s", -1},
           {"/cases/0/variants/0/fraction_of_limit", 7},
           {"/cases/0/variants/0/health/unhealthy_samples", 0},
           {"/cases/0/variants/0/health", nullptr},
           {"/cases/0/variants/0/disturbed_samples", 17},
           {"/cases/0/variants/0/evidence/nvlink_share", 0.5},
           {"/cases/0/ratios/0/ratio", 1640.0},
           {"/cases/0/ratios/0/correlated", true},
           {"/cases/0/ratios", Json::array()},
           {"/cases/0/converged", true}}) {
    Json document = full_document();
    document[Json::json_pointer(place)] = value;
    EXPECT_TRUE(same(parse_record(document.dump(), ""), record)) << place << " " << value;
  }
}

TEST(RecordSchema, RefusesWhatIsThereTwiceOrInAnotherPlace) {
  Situations answers;
  answers.refuse("rank 0 twice",
                 [] { parse_record(with("/machine/ranks/1/rank", 0).dump(), "a.json"); });
  answers.refuse("rank 3 of three",
                 [] { parse_record(with("/machine/ranks/2/rank", 3).dump(), "a.json"); });
  Json same_case = full_document();
  same_case["cases"][1]["case"] = same_case["cases"][0]["case"];
  answers.refuse("a case twice", [&] { parse_record(same_case.dump(), "a.json"); });
  Json same_variant = full_document();
  same_variant["settings"]["variants"][2]["name"] = "p2p";
  answers.refuse("a variant twice", [&] { parse_record(same_variant.dump(), "a.json"); });
  Json other_order = full_document();
  std::swap(other_order["cases"][0]["variants"][0], other_order["cases"][0]["variants"][1]);
  answers.refuse("variants in another order", [&] { parse_record(other_order.dump(), "a.json"); });
  Json program = full_document();
  program["settings"]["program"] = {{"command", {"true"}}, {"server", ""},
                                    {"prepare", ""},       {"cleanup", ""},
                                    {"metrics", {"time"}}, {"warm_up_runs", 0}};
  answers.refuse("a program beside cases of linkgain",
                 [&] { parse_record(program.dump(), "a.json"); });
  Json unknown = full_document();
  unknown["cases"][0]["colour"] = "red";
  answers.refuse("an unknown member", [&] { parse_record(unknown.dump(), "a.json"); });
  std::string twice = full_document().dump();
  twice.insert(1, "\"wall_s\":1,");
  answers.refuse("a member twice", [&] { parse_record(twice, "a.json"); });
  answers.expect_golden("twice_or_misplaced.txt");
}

/// Leaves in each of the samples' columns what stands at these rows.
void keep_rows(Json& samples, const std::vector<std::size_t>& rows) {
  const auto kept = [&](const Json& column) {
    Json cells = Json::array();
    for (const std::size_t row : rows) cells.push_back(column[row]);
    return cells;
  };
  for (Json& column : samples) {
    if (column.empty() || !column[0].is_array()) {
      column = kept(column);
    } else {
      for (Json& of_rank : column) of_rank = kept(of_rank);
    }
  }
}

/// Returns all rows but those of a variant.
std::vector<std::size_t> rows_without(const Json& samples, int variant) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < samples["variant"].size(); ++row) {
    if (samples["variant"][row] != variant) rows.push_back(row);
  }
  return rows;
}

TEST(RecordSchema, DerivesNothingWhereThereAreNoSamples) {
  Json document = full_document();
  keep_rows(document["samples"], rows_without(document["samples"], 0));
  const Record without_first = parse_record(document.dump(), "");
  EXPECT_FALSE(without_first.cases[0].variants[0].time);
  EXPECT_TRUE(without_first.cases[0].variants[1].time);
  EXPECT_TRUE(without_first.cases[0].ratios.empty());
  keep_rows(document["samples"], {});
  const Record without_any = parse_record(document.dump(), "");
  for (const VariantResult& variant : without_any.cases[0].variants) {
    EXPECT_FALSE(variant.time || variant.busbw || variant.skew || variant.training);
    EXPECT_EQ(variant.health, HealthSummary{});
  }
}

TEST(RecordJson, ShowsWhatWouldActOnATerminal) {
  Record record = full_record();
  record.machine.host = "node\x1b[31m\u202E1";
  record.warnings[0].text = "first\nsecond\x07";
  const Record back = parse_record(to_json(record), "");
  EXPECT_EQ(back.machine.host, "node\\x1b[31m\\u202e1");
  EXPECT_EQ(back.warnings[0].text, "first\nsecond\\x07");
}

/// Asks for each number of a column, wherever it stands, of each type that it may have.
TEST(RecordSchema, RefusesOneNumberAmongMany) {
  const auto refused = [](const char* column, std::size_t place, const Json& value) {
    Json document = full_document();
    Json& cells = document["samples"][column];
    (cells[0].is_array() ? cells[0] : cells)[place] = value;
    return refusal(document);
  };
  for (const std::size_t place : {0U, 13U, 31U}) {
    const std::string where = fmt::format("[{}]", place);
    EXPECT_THAT(refused("round", place, -1), HasSubstr("[round]" + where));
    EXPECT_THAT(refused("round", place, 1.5), HasSubstr("[round]" + where));
    EXPECT_THAT(refused("round", place, nullptr), HasSubstr("[round]" + where));
    EXPECT_THAT(refused("operations", place, "5"), HasSubstr("[operations]" + where));
    EXPECT_THAT(refused("temperature_c_by_rank", place, 40.5),
                HasSubstr("[temperature_c_by_rank][0]" + where));
    EXPECT_THAT(refused("seconds_by_rank", place, -1e-3),
                HasSubstr("[seconds_by_rank][0]" + where));
    EXPECT_THAT(refused("seconds_by_rank", place, Json::array()), HasSubstr("[seconds_by_rank]"));
  }
}

// Records of the time before a member came in.

using Json = nlohmann::ordered_json;

/// Makes one of the first version, without a digest.
Json older_document() {
  Json document = Json::parse(to_json(full_record()));
  document["schema"] = kOlderSchema;
  document.erase("digest");
  return document;
}

/// Erases the members that a record of the time before evidence and health does not have.
TEST(OlderRecords, AreReadWithoutEvidenceAndHealth) {
  Json document = older_document();
  for (Json& result : document["cases"]) {
    for (Json& variant : result["variants"]) {
      for (const char* key : {"evidence", "fraction_of_limit", "limit", "health"}) {
        variant.erase(key);
      }
    }
  }
  for (const char* key : {"require_healthy", "label", "cases_digest"}) {
    document["settings"].erase(key);
  }
  for (Json& rank : document["machine"]["ranks"]) rank.erase("host_copy");
  for (Json& link : document["machine"]["links"]) {
    for (const char* key : {"ancestor", "nvlinks", "label"}) link.erase(key);
  }
  const Record record = parse_record(document.dump(), "");
  const VariantResult& variant = record.cases[0].variants[0];
  EXPECT_FALSE(variant.evidence);
  EXPECT_FALSE(variant.fraction_of_limit);
  EXPECT_EQ(variant.limit, LimitKind::unknown);
  EXPECT_EQ(variant.health.samples, 16) << "as its samples say";
  EXPECT_FALSE(record.settings.require_healthy);
  EXPECT_EQ(record.settings.label, "");
  EXPECT_EQ(record.settings.cases_digest, "");
  EXPECT_FALSE(record.machine.ranks[0].host_copy);
  EXPECT_FALSE(record.machine.links[0].ancestor);
  EXPECT_FALSE(record.machine.links[0].nvlinks);
}

/// Gives all links the rate of one in records that do not tell their sum.
TEST(OlderRecords, AreReadWithoutTheSumOfNvlinks) {
  Json document = older_document();
  EXPECT_EQ(document["machine"]["ranks"][0]["gpu"].erase("nvlink_total_gb_per_s"), 1U);
  const GpuInfo gpu = *parse_record(document.dump(), "").machine.ranks[0].gpu;
  EXPECT_FALSE(gpu.nvlink_total_gb_per_s);
  EXPECT_DOUBLE_EQ(nvlink_total(gpu).value(), 17 * 26.562);
}

TEST(OlderRecords, AreReadWithoutNeighbours) {
  Json document = older_document();
  EXPECT_EQ(document.erase("neighbours"), 1U);
  EXPECT_EQ(document["samples"].erase("disturbed"), 1U);
  for (const char* key : {"disturbed_samples", "level_shift"}) {
    EXPECT_EQ(document["cases"][0]["variants"][0].erase(key), 1U) << key;
  }
  const Record record = parse_record(document.dump(), "");
  EXPECT_FALSE(record.neighbours);
  EXPECT_EQ(record.cases[0].variants[0].disturbed_samples, 0);
  for (const Sample& sample : record.cases[0].samples) EXPECT_FALSE(sample.disturbed);
}

TEST(OlderRecords, AreReadWithoutMarksOfWhatWasNotVerified) {
  Json document = older_document();
  EXPECT_EQ(document["samples"].erase("unverified"), 1U);
  for (const CaseResult& result : parse_record(document.dump(), "").cases) {
    for (const Sample& sample : result.samples) EXPECT_FALSE(sample.unverified);
  }
}

TEST(OlderRecords, AreReadWithoutAReasonOfPcie) {
  Json document = older_document();
  Json& evidence = document["cases"][0]["variants"][1]["evidence"];
  EXPECT_EQ(evidence.erase("pcie_reason"), 1U);
  const Record record = parse_record(document.dump(), "");
  EXPECT_EQ(record.cases[0].variants[1].evidence->pcie_reason, "");
}

TEST(OlderRecords, AreReadWithoutADigestOfTokens) {
  Json document = older_document();
  EXPECT_EQ(document["settings"]["training"].erase("tokens_digest"), 1U);
  const Record record = parse_record(document.dump(), "");
  EXPECT_EQ(record.settings.training->tokens_digest, "");
}

/// The order of the sections in docs/record.md.
constexpr std::array kSections{
    "journal_line", "answer",   "time_spent",    "evidence_cost", "warning",    "software",
    "machine",      "settings", "link_counters", "program_run",   "neighbours", "link_errors",
    "verification", "evidence", "health",        "case",          "samples"};

json::Out record_schema() {
  json::Out definitions = json::Out::object();
  json::Out schema{
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"$id", kRecordSchema},
      {"title", "Record of one linkgain run"},
      {"description",
       "Times are seconds, bandwidths 1e9 bytes per second, sizes bytes. Not measured is null. The "
       "samples come last, so that a reader of the results can stop before them."}};
  schema.update(schema_of<RecordDocument>({}, definitions));
  schema_of<JournalLine>({}, definitions);
  for (const char* section : kSections) schema["definitions"][section] = definitions.at(section);
  EXPECT_EQ(schema["definitions"].size(), definitions.size()) << "a section is missing here";
  return schema;
}

TEST(RecordSchema, IsThatOfTheMembers) {
  expect_golden(laid_out_schema(record_schema()) + "\n",
                "../../../../bench/common/record/record.schema.json");
}

bool is_valid(const nlohmann::json& document) {
  using Adapter = valijson::adapters::NlohmannJsonAdapter;
  const nlohmann::json text = nlohmann::json::parse(record_schema().dump());
  valijson::Schema schema;
  valijson::SchemaParser{}.populateSchema(Adapter(text), schema);
  return valijson::Validator{}.validate(schema, Adapter(document), nullptr);
}

TEST(RecordSchema, AcceptsWhatIsWritten) {
  EXPECT_TRUE(is_valid(nlohmann::json::parse(to_json(full_record()))));
  Record empty;
  empty.settings.variants = {{"tcp", {}}};
  EXPECT_TRUE(is_valid(nlohmann::json::parse(to_json(empty))));
  nlohmann::json unknown = nlohmann::json::parse(to_json(full_record()));
  unknown["cases"][0]["colour"] = "red";
  EXPECT_FALSE(is_valid(unknown));
}

/// Reads records of version 1, and writes them as this version does.
TEST(RecordSchema, AcceptsTheRecordsInResults) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(RESULTS_FOLDER)) {
    if (entry.path().filename() != "record.json" || entry.file_size() > (256U << 10)) continue;
    EXPECT_TRUE(is_valid(nlohmann::json::parse(to_json(read_record(entry.path())))))
        << entry.path();
  }
}

}  // namespace
}  // namespace linkgain::test
