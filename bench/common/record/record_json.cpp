#include "linkgain/record/record_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/base/visible_text.hpp"
#include "linkgain/record/digest.hpp"
#include "linkgain/record/record_json.hpp"
#include "linkgain/record/record_members.hpp"
#include "record_structure.hpp"

namespace linkgain {
namespace {

constexpr json::Source kRecordSource{"record",
                                     "give a record.json that `linkgain run` wrote, unchanged"};
constexpr std::string_view kBetweenMembers = ",\n";

/// A line for each case and each of the samples' columns; machine and settings over several.
std::string pretty(const json::Out& document) {
  return json::laid_out(document, [](const std::string& key, const json::Out& value) {
    if ((key == "cases" || key == "samples" || key == "runs") && !value.empty())
      return json::Layout::rows;
    return key == "machine" || key == "settings" ? json::Layout::indented : json::Layout::line;
  });
}

}  // namespace

void json::require_known_schema(const Node& document) {
  constexpr std::string_view kFamily = "linkgain.record/";
  const std::optional<Node> schema = document.is_object() ? document.find("schema") : std::nullopt;
  const bool is_text = schema && schema->kind() == Node::Kind::text;
  const std::string_view found = is_text ? schema->text() : std::string_view();
  if (found == kRecordSchema || found == kOlderSchema) return;
  if (!found.starts_with(kFamily)) {
    throw NotARecord(fmt::format("not a record: it has no member 'schema' of {}<number>", kFamily),
                     "give a record.json that `linkgain run` wrote");
  }
  throw UsageError(fmt::format("its schema is {}, this linkgain reads {} and {}", visible(found),
                               kOlderSchema, kRecordSchema),
                   "read it with the linkgain that wrote it, or a newer one");
}

std::string to_json_without_samples(const Record& record) { return pretty(json::write(record)); }

std::string to_json(const Record& record) {
  json::Out document = json::write(record);
  document["samples"] = json::write(table_of(record.cases));
  Digest digest;
  return with_digest(pretty(document), kBetweenMembers, digest);
}

namespace {

std::string about(const std::string& origin, std::string_view what) {
  return origin.empty() ? std::string(what) : fmt::format("{}: {}", origin, what);
}

Record read_document(std::string_view text) {
  const json::Document document(text);
  json::require_known_schema(document.root());
  Digest so_far;
  const std::string digest = require_digest(text, document.root(), kBetweenMembers, so_far);
  auto [record, samples] = json::read<RecordDocument>(document.root(), kRecordSource);
  add_samples(samples, record.cases);
  derive_results(record);
  record.digest = digest;
  return std::move(record);
}

}  // namespace

Record parse_record(std::string_view text, const std::string& origin) {
  try {
    return read_document(text);
  } catch (const json::NotARecord& error) {
    throw json::NotARecord(about(origin, error.what()), error.advice());
  } catch (const UsageError& error) {
    throw UsageError(about(origin, error.what()), error.advice());
  }
}

}  // namespace linkgain
