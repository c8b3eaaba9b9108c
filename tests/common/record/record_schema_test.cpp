#include <gtest/gtest.h>

#include <filesystem>

#include "linkgain/record/record_members.hpp"
#include "record_documents.hpp"
#include "support/golden.hpp"
#include "support/schema_of_members.hpp"

namespace linkgain::test {
namespace {

/// The order of the sections in docs/record.md.
constexpr std::array kSections{"journal_line", "time_spent", "evidence_cost", "warning",
                               "software",     "machine",    "settings",      "link_counters",
                               "program_run",  "neighbours", "link_errors",   "verification",
                               "evidence",     "health",     "case",          "samples"};

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
  schema["required"].push_back("digest");
  schema_of<JournalLine>({}, definitions);
  definitions["journal_line"]["required"] = {"digest"};
  for (const char* section : kSections) schema["definitions"][section] = definitions.at(section);
  EXPECT_EQ(schema["definitions"].size(), definitions.size()) << "a section is missing here";
  return schema;
}

TEST(RecordSchema, IsThatOfTheMembers) {
  expect_golden(laid_out_schema(record_schema()) + "\n",
                "../../../../bench/common/record/record.schema.json");
}

void require(const json::In& document) {
  static const JsonSchema schema(record_schema().dump());
  schema.require(document, "record", "");
}

TEST(RecordSchema, AcceptsWhatIsWritten) {
  require(json::In::parse(to_json(full_record())));
  Record empty;
  empty.settings.variants = {{"tcp", {}}};
  require(json::In::parse(to_json(empty)));
  json::In unknown = json::In::parse(to_json(full_record()));
  unknown["cases"][0]["colour"] = "red";
  EXPECT_THROW(require(unknown), UsageError);
}

/// Records of version 1, as this version writes them.
TEST(RecordSchema, AcceptsTheRecordsInResults) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(RESULTS_FOLDER)) {
    if (entry.path().filename() != "record.json" || entry.file_size() > (256U << 10)) continue;
    EXPECT_NO_THROW(require(json::In::parse(to_json(read_record(entry.path()))))) << entry.path();
  }
}

}  // namespace
}  // namespace linkgain::test
