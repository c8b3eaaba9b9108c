#pragma once

#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/record/journal.hpp"
#include "support/full_record.hpp"
#include "support/situations.hpp"

/// Records as JSON documents, made to be changed and read.
namespace linkgain::test {

using Json = nlohmann::ordered_json;

/// Returns what parse_record says against a document; "accepted" if it does not.
inline std::string refusal(const std::string& text) {
  return refusal_of([&] { parse_record(text, "a.json"); });
}

inline std::string refusal(const Json& document) { return refusal(document.dump()); }

/// Drops the digest, so that the document may be changed.
inline Json without_digest(const std::string& text) {
  Json document = Json::parse(text);
  document.erase("digest");
  return document;
}

/// Returns the record as it is read again: what is derived is that of its samples, without what a
/// run's other cases and its machine add to it.
inline Record as_read(Record record) {
  for (CaseResult& result : record.cases) {
    summarise(result);
    result.converged = false;
    for (VariantResult& variant : result.variants) {
      variant.fraction_of_limit.reset();
      variant.limit = LimitKind::unknown;
      if (!is_training(result.definition.operation)) variant.training.reset();
    }
  }
  return record;
}

inline Json full_document() { return without_digest(to_json(full_record())); }

/// Changes one place of a document, named by a JSON pointer.
inline Json with(const char* place, const Json& value) {
  Json document = full_document();
  document.at(Json::json_pointer(place)) = value;
  return document;
}

}  // namespace linkgain::test
