#include "linkgain/record/record_json.hpp"

#include <fmt/format.h>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json_layout.hpp"
#include "linkgain/base/json_schema.hpp"
#include "record_schema.hpp"

namespace linkgain {
namespace {

json::Out write_head(const Record& record) {
  return {{"schema", kRecordSchema},
          {"started", record.started},
          {"wall_s", json::nullable(record.wall_seconds)},
          {"status", name_of(record.status)},
          {"exit_code", record.exit_code},
          {"machine", json::write_machine(record.machine)},
          {"settings", json::write_settings(record.settings)},
          {"evidence_cost", record.evidence_cost ? json::write_evidence_cost(*record.evidence_cost)
                                                 : json::Out(nullptr)},
          {"cases", json::array_of(record.cases, json::write_case)},
          {"warnings", json::array_of(record.warnings, json::write_warning)}};
}

void require_schema(const json::In& document) {
  static const JsonSchema schema(record_schema());
  schema.require(document, "record", "give a record.json that `linkgain run` wrote, unchanged");
}

Record read_document(const json::In& document) {
  Record record;
  record.started = document.at("started");
  record.wall_seconds = json::optional_at<double>(document, "wall_s");
  record.status = parse_run_status(document.at("status").get<std::string>());
  record.exit_code = document.at("exit_code");
  record.machine = json::read_machine(document.at("machine"));
  record.settings = json::read_settings(document.at("settings"));
  if (document.contains("evidence_cost") && !document.at("evidence_cost").is_null()) {
    record.evidence_cost = json::read_evidence_cost(document.at("evidence_cost"));
  }
  record.cases = json::vector_of<CaseResult>(document.at("cases"), json::read_case);
  record.warnings = json::vector_of<Warning>(document.at("warnings"), json::read_warning);
  json::read_samples(document.at("samples"), record.cases);
  return record;
}

/// A line for each case and each of the samples' columns; machine and settings over several.
std::string pretty(const json::Out& document) {
  return json::laid_out(document, [](const std::string& key, const json::Out& value) {
    if ((key == "cases" || key == "samples") && !value.empty()) return json::Layout::rows;
    return key == "machine" || key == "settings" ? json::Layout::indented : json::Layout::line;
  });
}

}  // namespace

void json::require_known_schema(const In& document) {
  require_known_schema(document.is_object() ? document.value("schema", "") : std::string());
}

void json::require_known_schema(const std::string& found) {
  constexpr std::string_view kFamily = "linkgain.record/";
  if (found == kRecordSchema) return;
  if (!found.starts_with(kFamily)) {
    throw NotARecord(fmt::format("not a record: it has no member 'schema' of {}<number>", kFamily),
                     "give a record.json that `linkgain run` wrote");
  }
  throw UsageError(fmt::format("its schema is {}, this linkgain reads {}", found, kRecordSchema),
                   "read it with the linkgain that wrote it, or a newer one");
}

std::string to_json_without_samples(const Record& record) { return pretty(write_head(record)); }

std::string to_json(const Record& record) {
  json::Out document = write_head(record);
  document["samples"] = json::write_samples(record.cases);
  return pretty(document);
}

Record parse_record(std::string_view text, const std::string& origin) {
  json::In document;
  try {
    document = json::In::parse(text);
  } catch (const json::In::parse_error& error) {
    throw UsageError(fmt::format("{}: not JSON, from byte {} on", origin, error.byte),
                     "give a record.json that `linkgain run` wrote");
  }
  try {
    json::require_known_schema(document);
    require_schema(document);
    return read_document(document);
  } catch (const json::In::exception& error) {
    throw UsageError(fmt::format("{}: {}", origin, error.what()));
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", origin, error.what()), error.advice());
  }
}

}  // namespace linkgain
