#pragma once

#include <optional>
#include <string_view>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json_node.hpp"

namespace linkgain {

struct RecordDocument;

/// Reads of a record's file what launch values are made of, in a quarter of the time that
/// parse_record() takes: cases have no samples, and of these there are the columns `case`,
/// `variant`, `launch`, `seconds_by_rank`, `clock_event_reasons_by_rank` and `disturbed`, of equal
/// length, each row of a variant that is there. Returns nothing of any other file than one of the
/// newest schema that is as linkgain wrote it, which its digest says; parse_record() then says why.
std::optional<RecordDocument> read_as_written(std::string_view text);

}  // namespace linkgain

/// What tells a record from other JSON documents.
namespace linkgain::json {

/// A document of another program or of another kind.
class NotARecord : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Throws NotARecord where the document has no `schema` of a record, UsageError where it is one of
/// a version that is not read.
void require_known_schema(const Node& document);

}  // namespace linkgain::json
